"""What the history tells: commits, their messages as evidence, and the index that finds them."""
