"""Cross entropy over a large vocabulary"""
