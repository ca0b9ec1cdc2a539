"""Merges as git holds them: made ones, and one under way."""
