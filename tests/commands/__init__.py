"""Tests of the package's folder of the same name."""
