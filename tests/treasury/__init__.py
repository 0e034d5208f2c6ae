"""The treasury."""
