"""Second reviews: somebody else looks at work before it is paid, for an extra that the buyer holds."""
