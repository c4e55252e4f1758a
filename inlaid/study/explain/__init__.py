"""Why: contexts, dimensions, axes, blanks"""
