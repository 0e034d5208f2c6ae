"""The features of a node, one line each, in the order in which they stand on each other.

Adding a feature adds its package here. By convention the package has `feature.py` (what it brings to a node), and where
they apply `policy.py` (its numbers) and `migrations/` (its tables). This module imports none of them, so that a
process which needs only tables or numbers loads nothing else.
"""

from __future__ import annotations

FEATURES: tuple[str, ...] = (
    "choir.storage",
    "choir.ledger",
    "choir.objects",
    "choir.identity",
    "choir.sandbox",
    "choir.treasury",
    "choir.bazaar",
    "choir.commons",
    "choir.relay",
)
