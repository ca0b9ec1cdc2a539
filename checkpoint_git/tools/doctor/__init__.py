"""`checkpoint doctor`: facts gathered, checks asked, findings reported and fixed."""
