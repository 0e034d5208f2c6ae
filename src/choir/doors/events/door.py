"""Events, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(Command("events", "commands:register", "For developers", "Stream events until Ctrl-C."),),
)
