"""What keeps long work safe."""
