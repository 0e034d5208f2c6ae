"""Articles, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door, Link

DOOR = Door(
    routes=("routes:router", "revision_routes:router"),
    pages=("pages:router",),
    links=(Link("/articles", "Articles", 20),),
    commands=(
        Command("article", "commands:app", "Knowledge", "Write articles whose every claim can be checked."),
        Command(
            "publish", "commands.publish:register", "Knowledge", "Publish an article: stake, review, window, promotion."
        ),
        Command(
            "assert",
            "commands.assertion:register",
            "Knowledge",
            "Show which sentences of a text stand on promoted evidence.",
        ),
    ),
)
