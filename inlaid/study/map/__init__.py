"""Words on a plane, and how far to trust it"""
