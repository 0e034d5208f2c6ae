"""Skills, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(
        Command("skill", "commands:app", "Work", "Publish skills that orders can name, for a share of their price."),
    ),
)
