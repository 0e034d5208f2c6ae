"""Buying work from a program: order, wait, verify."""
