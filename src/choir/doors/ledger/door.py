"""The ledger, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door, Link

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    links=(Link("/ledger", "Ledger", 40),),
    commands=(
        Command("ledger", "commands:app", "Money", "Read and write the ledger: accounts, entries, holds, proofs."),
        Command(
            "fund",
            "commands.entries:register_at_the_top",
            "Money",
            "Fund an account with play money (development nodes only).",
        ),
        Command(
            "explain",
            "commands.entries:register_at_the_top",
            "Money",
            "Explain an entry: what it did, by which rules, and its proof.",
        ),
    ),
)
