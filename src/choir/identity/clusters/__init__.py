"""Clusters: which accounts are taken for one."""
