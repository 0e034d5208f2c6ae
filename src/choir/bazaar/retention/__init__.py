"""Retention: how long the bytes of closed jobs are kept, and what keeping them longer costs."""
