"""`choir claim` and `choir atom`."""
