"""Texts as bags of words and n-grams: the ids of their features, and the means of their vectors."""
