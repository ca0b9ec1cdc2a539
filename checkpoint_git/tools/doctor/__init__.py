"""`checkpoint doctor`: facts gathered, checks asked, findings told and mended."""
