"""Operators in a browser: how they enter, and the pages on which they look after a node."""
