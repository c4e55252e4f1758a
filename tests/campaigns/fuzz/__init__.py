"""Fuzzing: damaged and forged files of every kind that Inlaid reads."""
