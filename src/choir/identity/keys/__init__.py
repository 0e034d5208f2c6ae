"""Account keys."""
