"""Qualification: trials by which a newcomer shows what it can do."""
