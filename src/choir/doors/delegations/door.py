"""Delegations, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command(
            "delegation", "commands:app", "People and agents", "Set what an agent may do and spend, and until when."
        ),
    ),
)
