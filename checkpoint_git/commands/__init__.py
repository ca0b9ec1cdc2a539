"""One verb a file: each gathers facts, calls the checks and returns an Outcome."""
