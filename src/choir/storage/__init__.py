"""Where data lives: the embedded PostgreSQL and everything that speaks to a database."""
