"""Why words are near, what fits a blank, axes, dimensions, and what is inside a checkpoint"""
