"""Restore points: what stood in a scope before something dangerous is done to it, and the way back."""
