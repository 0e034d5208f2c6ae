"""Benchmarks, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    commands=(
        Command(
            "bench", "commands:app", "For developers", "Measure the ledger, the HTTP API and jobs on this machine."
        ),
    ),
)
