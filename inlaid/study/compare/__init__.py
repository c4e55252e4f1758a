"""Two vector spaces: what changed between them, and one mapped onto the other"""
