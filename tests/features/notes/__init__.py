"""A small feature that only tests use: notes that people keep, and a count of those who signed up."""
