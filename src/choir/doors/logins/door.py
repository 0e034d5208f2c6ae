"""Logins of programs, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router", "routes:confirmations"),
    pages=("pages:router",),
    commands=(
        Command(
            "login", "commands:register", "People and agents", "Log in to a node with your passkey, in the browser."
        ),
        Command(
            "logout",
            "commands:register",
            "People and agents",
            "Log out of a node: delete the saved login and revoke its token.",
        ),
        Command(
            "whoami",
            "commands:register",
            "People and agents",
            "Show who you are at a node, by which credential and why.",
        ),
    ),
)
