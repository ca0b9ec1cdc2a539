"""`checkpoint sync`."""
