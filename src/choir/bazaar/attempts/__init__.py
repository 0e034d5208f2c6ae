"""Attempts: what providers take, hand in and give back."""
