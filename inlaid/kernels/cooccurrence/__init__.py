"""Co-occurrence counts and the sparse matrices made of them"""
