"""Sources: documents, their text, and spans of it."""
