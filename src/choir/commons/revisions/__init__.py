"""Revisions that others propose, and boosts."""
