"""Skills: publishing, finding and withdrawing them."""
