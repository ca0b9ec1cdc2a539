"""What serves every protocol: one folder a subject."""
