"""Citations: who rests on whom, what that is worth, and what it earned."""
