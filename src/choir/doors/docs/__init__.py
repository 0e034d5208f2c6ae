"""The documentation, as a door: the same pages on a node, in a static site, and as files in the project."""
