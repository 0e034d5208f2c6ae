"""Credentials: passkeys, sessions, recovery codes, tokens, logins, signed requests."""
