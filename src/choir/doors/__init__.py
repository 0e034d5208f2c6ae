"""The doors: how people and programs come in."""
