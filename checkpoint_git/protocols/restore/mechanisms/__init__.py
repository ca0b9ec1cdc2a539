"""How the content of a restore point is kept: one module a mechanism."""
