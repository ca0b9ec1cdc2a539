"""The network: the one room that may open a connection. Nothing imports it unless somebody asked for it."""
