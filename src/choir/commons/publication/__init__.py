"""Publication: stake, review, window, promotion, and what becomes of the stake."""
