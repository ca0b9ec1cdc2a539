"""Workflow phases: memory/state/phase.json, and its tasks in memory/state/execution.json."""
