"""Jobs, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=(
        "routes:router",
        "market_routes:router",
        "attempt_routes:router",
        "upload_routes:router",
    ),
    commands=(Command("job", "commands:app", "Work", "Buy work that is verified before it is paid."),),
)
