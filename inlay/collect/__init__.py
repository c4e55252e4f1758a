"""1  TEXT"""
