"""Bringing money into being: proposed by one operator, approved by others, posted as one entry."""
