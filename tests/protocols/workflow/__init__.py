"""Tests of the room of workflow phases."""
