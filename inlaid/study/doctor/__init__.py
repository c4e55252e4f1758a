"""What is wrong with a vector space, and what to do about it"""
