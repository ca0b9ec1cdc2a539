"""Append-only records of a pipeline's phases: one YAML file for each attempt at a phase."""
