"""The commands that run a node."""
