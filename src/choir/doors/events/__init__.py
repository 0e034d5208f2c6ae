"""What happens on a node, live."""
