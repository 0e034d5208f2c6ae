"""Trajectories: what a worker did, line by line."""
