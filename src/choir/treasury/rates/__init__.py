"""The rate of citations, fixed for each month."""
