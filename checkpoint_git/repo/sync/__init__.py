"""A branch of a remote as the place where clones meet: asking, sending, and what this clone remembers of it."""
