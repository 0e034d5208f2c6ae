"""Disputes about the outcome of a job."""
