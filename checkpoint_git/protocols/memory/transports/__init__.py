"""The ways to a graph: a running server, its file directly, a graph in memory. One way, one module."""
