"""API tokens, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Audience, Command, Door, Link

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    links=(Link("/tokens", "Tokens", 82, Audience.PERSON),),
    commands=(Command("token", "commands:app", "People and agents", "Create, list and revoke tokens for programs."),),
)
