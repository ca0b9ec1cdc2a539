"""`checkpoint mcp`: the verbs as tools and the checkpoints as resources for agents, over standard input and output."""
