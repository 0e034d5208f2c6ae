"""Logging a program in."""
