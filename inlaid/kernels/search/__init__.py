"""Scores of many words for a few queries"""
