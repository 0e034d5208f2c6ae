"""Search and the feed, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(
        Command(
            "search", "commands:register_search", "Knowledge", "Find promoted articles by their words and their sense."
        ),
        Command("feed", "commands:register_feed", "Knowledge", "Show new and much-cited articles."),
    ),
)
