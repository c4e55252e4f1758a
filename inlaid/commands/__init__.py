"""What users type: each command parses its flags, calls the library and prints; the docstring is the help."""
