"""The verbs of skill checkpoints, one module each."""
