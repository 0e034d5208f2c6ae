"""Search and the feed."""
