"""VECTORS <-> FILES, one file per format"""
