"""Delegations, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("delegation", "commands:app", "People and agents", "Say what an agent may do, spend, and until when."),
    ),
)
