"""Scores on tasks with known answers, with intervals"""
