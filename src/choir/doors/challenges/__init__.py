"""Challenges of what is pending or promoted."""
