"""Skip-gram and CBOW over words made of n-grams"""
