"""What agents' hooks call: `prime` when a session starts, `session` when it stops; nothing here may end a session."""
