"""Novelty: what a text scores, and why."""
