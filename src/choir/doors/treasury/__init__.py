"""The treasury: the price of CHIP, the citation rate, the citation pool."""
