"""People: signing up and in, passkeys, recovery."""
