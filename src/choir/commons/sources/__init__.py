"""Sources: documents with a reproducible text, and extracts of it by offset."""
