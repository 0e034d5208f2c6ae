"""The demo, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    commands=(
        Command("demo", "commands:register", "Start here", "Start a node and play a story on it in two minutes."),
    ),
)
