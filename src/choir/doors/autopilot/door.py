"""The autopilot, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    commands=(
        Command(
            "autopilot", "commands:register", "Work", "Get from a failing test or an issue to a branch that fixes it."
        ),
    ),
)
