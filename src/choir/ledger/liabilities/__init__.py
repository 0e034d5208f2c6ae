"""Proof of liabilities: everybody can check that the published total of what a node owes includes what it owes them."""
