"""Stakes: CHIP that is held for something that may be challenged."""
