"""The geometry behind embeddings and Transformers, computed and drawn: one file per picture"""
