"""`checkpoint memory`: an initiative's checkpoint in the graph of a memory server, one sub-verb or two a module."""
