"""The market: who sells work, at which prices, with what record, and who is chosen for a job."""
