"""The sandbox, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    commands=(
        Command("sandbox", "commands:app", "For developers", "Run code in a sandbox, and see which tiers work here."),
    ),
)
