"""Atoms, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("claim", "commands.claims:app", "Knowledge", "Make claims and bind them to evidence."),
        Command("atom", "commands.atoms:app", "Knowledge", "Make, find and show atoms of every kind."),
    ),
)
