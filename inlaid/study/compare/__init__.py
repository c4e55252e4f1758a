"""Two vector spaces: what changed, and one aligned to the other"""
