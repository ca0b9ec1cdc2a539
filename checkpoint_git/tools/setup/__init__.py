"""`checkpoint init` and `checkpoint uninstall`: plans made in repo/setup, carried out here."""
