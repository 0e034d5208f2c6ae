"""What the node owes, signed."""
