"""`checkpoint hook`: what git's hooks ask."""
