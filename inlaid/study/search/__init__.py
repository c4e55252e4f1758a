"""Nearest words: exact, approximate, by CSLS, by formulas"""
