"""The node itself: running it, its settings, its policy."""
