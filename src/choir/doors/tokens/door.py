"""API tokens, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(Command("token", "commands:app", "People and agents", "Create, list and revoke tokens for programs."),),
)
