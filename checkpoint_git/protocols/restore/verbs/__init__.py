"""`checkpoint restore-point` and its guard for agents."""
