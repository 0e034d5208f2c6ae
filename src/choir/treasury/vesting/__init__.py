"""Grants that vest."""
