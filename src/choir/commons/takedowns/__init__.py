"""Takedowns: what operators take out of public view, and put back."""
