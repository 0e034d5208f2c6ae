"""Passages: a text cut into pieces of about 200 words, each with a vector of whole numbers for what it speaks of."""
