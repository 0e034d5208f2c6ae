"""Settlement: a job's money, from the hold to the receipt."""
