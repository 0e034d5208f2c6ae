"""One's own accounts, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("money_pages:router",),
    commands=(
        Command("account", "commands:app", "Money", "Show your own accounts and their balances."),
        Command("send", "send:register", "Money", "Send an amount to a person or an agent."),
    ),
)
