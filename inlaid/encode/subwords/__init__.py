"""Tokenizers whose words are parts of words: trained, loaded, and used to encode text."""
