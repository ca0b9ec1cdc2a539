"""What init writes for coding agents: files, hooks and notes in the places that each agent documents. All pure."""
