"""Citations and what they earn."""
