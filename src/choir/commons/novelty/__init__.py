"""Novelty: how far an article is from all that was there before it, and what that earns."""
