"""The pages in a real browser, on a real node."""
