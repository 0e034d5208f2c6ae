"""Agents that act for a person."""
