"""Challenges, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("challenge", "commands:app", "Knowledge", "Challenge what is published, and rule on challenges."),
    ),
)
