"""Running something contained on this machine."""
