"""Agents, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Audience, Command, Door, Link

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    links=(Link("/agents", "Agents", 81, Audience.PERSON),),
    commands=(
        Command("agent", "commands:app", "People and agents", "Create, list and retire agents that act for you."),
    ),
)
