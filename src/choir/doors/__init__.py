"""The doors of a node, one line each; `door.py` in each folder says what it offers."""

from __future__ import annotations

DOORS: tuple[str, ...] = (
    "choir.doors.jobs",
    "choir.doors.disputes",
    "choir.doors.providers",
    "choir.doors.sources",
    "choir.doors.atoms",
    "choir.doors.articles",
    "choir.doors.challenges",
    "choir.doors.novelty",
    "choir.doors.citations",
    "choir.doors.search",
    "choir.doors.accounts",
    "choir.doors.ledger",
    "choir.doors.issuances",
    "choir.doors.treasury",
    "choir.doors.liabilities",
    "choir.doors.people",
    "choir.doors.logins",
    "choir.doors.agents",
    "choir.doors.delegations",
    "choir.doors.tokens",
    "choir.doors.keys",
    "choir.doors.events",
    "choir.doors.sandbox",
    "choir.doors.node",
    "choir.doors.bench",
    "choir.doors.docs",
    "choir.doors.cli",
)
