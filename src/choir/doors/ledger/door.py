"""The ledger, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("ledger", "commands:app", "Money", "Read and write the ledger: accounts, entries, holds, proofs."),
        Command(
            "fund",
            "commands.entries:register_at_the_top",
            "Money",
            "Give an account money out of nothing (development nodes only).",
        ),
        Command(
            "explain",
            "commands.entries:register_at_the_top",
            "Money",
            "Say in words what an entry did, by which rules, and what proves it.",
        ),
    ),
)
