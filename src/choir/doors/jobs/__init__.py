"""Jobs: ordering work, following it, getting what was paid for."""
