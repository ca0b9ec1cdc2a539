"""The room of initiative checkpoints."""
