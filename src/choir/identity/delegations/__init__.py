"""Delegations: how far an agent may act for a person, and spending under one."""
