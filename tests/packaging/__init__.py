"""The wheel as a user gets it: built, installed into an environment of its own, and run there."""
