"""Skill checkpoints: .checkpoints/<skill>.checkpoint.json."""
