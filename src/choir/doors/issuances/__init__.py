"""Issuing money."""
