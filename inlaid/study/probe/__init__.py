"""What a model knows: probes, senses, referents, layers."""
