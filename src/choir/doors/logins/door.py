"""Logins of programs, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(
        Command(
            "login", "commands:register", "People and agents", "Log in to a node with your passkey, in the browser."
        ),
        Command(
            "logout", "commands:register", "People and agents", "Forget the login for a node, and end its token there."
        ),
        Command(
            "whoami",
            "commands:register",
            "People and agents",
            "Say who you are to a node, by which credential and why.",
        ),
    ),
)
