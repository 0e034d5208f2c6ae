"""The treasury, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door, Link

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    links=(Link("/treasury", "Treasury", 30),),
    commands=(
        Command(
            "treasury", "commands:app", "Money", "Show the citation rate, the price of CHIP and the citation pool."
        ),
    ),
)
