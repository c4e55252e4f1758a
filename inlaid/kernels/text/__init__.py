"""Text to words, ids, numbers, n-grams and phrases"""
