"""Everything that touches files, and nothing that knows what is in them."""
