"""`checkpoint status`."""
