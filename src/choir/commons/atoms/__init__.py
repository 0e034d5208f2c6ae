"""Atoms: immutable, content-addressed statements, and the one table of their states."""
