"""Bonds: what a provider puts up from tier 1 on, for buyers with a security issue."""
