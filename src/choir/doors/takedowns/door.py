"""Takedowns, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("takedown", "commands:app", "Node", "Take an article or a source out of public view, or put it back."),
    ),
)
