"""People, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Audience, Command, Door, Link

DOOR = Door(
    routes=(
        "session_routes:router",
        "routes:router",
        "passkey_routes:router",
    ),
    pages=("pages:router",),
    commands=(
        Command("signup", "commands:register", "People and agents", "Open the sign-up page of a node in the browser."),
    ),
    links=(
        Link("/account", "Account", 80, Audience.PERSON),
        Link("/sign-up", "Sign up", 80, Audience.STRANGER),
        Link("/sign-in", "Log in", 81, Audience.STRANGER),
    ),
)
