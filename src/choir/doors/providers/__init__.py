"""Providers: who sells work."""
