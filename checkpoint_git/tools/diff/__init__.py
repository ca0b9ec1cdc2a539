"""What changed in the files, value by value."""
