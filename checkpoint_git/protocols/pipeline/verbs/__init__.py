"""`checkpoint pipeline`: append-only records of a pipeline's phases."""
