"""One's own accounts: balances, statements, sending money."""
