"""Indexes: making and searching them."""
