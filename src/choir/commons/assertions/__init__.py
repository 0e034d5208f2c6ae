"""Assertions: which sentences of a text stand on promoted bindings, and which do not."""
