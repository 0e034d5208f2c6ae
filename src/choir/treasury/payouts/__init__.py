"""Citation payouts: paid now, or owed."""
