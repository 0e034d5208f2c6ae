"""Sources, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(Command("source", "commands:app", "Knowledge", "Add documents as evidence, and find what they say."),),
)
