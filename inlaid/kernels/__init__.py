"""The inner loops; nothing here knows the rest of the package."""
