"""Citations and earnings, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(
        Command("cite", "commands:app", "Knowledge", "Cite articles, and see who cites whom."),
        Command("earnings", "commands:register_earnings", "Knowledge", "Show what your articles earned."),
    ),
)
