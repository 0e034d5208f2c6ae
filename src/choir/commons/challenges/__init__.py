"""Challenges: a staked objection to something that is pending or promoted."""
