"""A few rows times a matrix that is read once, from where it is"""
