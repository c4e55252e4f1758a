"""Vectors and models put to work: embed, next, generate, translate."""
