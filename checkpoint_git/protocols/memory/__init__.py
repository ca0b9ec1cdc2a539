"""Initiative checkpoints: one entity in the graph of a memory server says where an initiative stands."""
