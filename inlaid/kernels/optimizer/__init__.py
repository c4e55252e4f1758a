"""Adam for the rows of an embedding table"""
