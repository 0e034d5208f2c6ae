"""The treasury: its accounts, the price of CHIP, the rate of citations, grants that vest, and citation payouts."""
