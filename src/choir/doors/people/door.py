"""People, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Door

DOOR = Door(
    routes=(
        "session_routes:router",
        "routes:router",
        "passkey_routes:router",
    ),
    pages=("pages:router",),
)
