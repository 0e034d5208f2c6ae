"""Skills: folders that tell workers how to do something, and what their creators get for it."""
