"""The price of CHIP."""
