"""`checkpoint validate`."""
