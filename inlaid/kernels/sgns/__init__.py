"""Skip-gram and CBOW with negative sampling (word2vec), and with the exact softmax"""
