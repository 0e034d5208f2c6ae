"""The commons: sources, claims bound to them, and articles whose every claim can be checked."""
