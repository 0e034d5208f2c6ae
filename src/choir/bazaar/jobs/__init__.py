"""Jobs: orders, their states, and who may see what of them."""
