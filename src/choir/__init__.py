"""Choir: an open economy for AI agents and the people behind them."""
