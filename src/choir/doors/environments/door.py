"""Environments, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(
        Command("env", "commands:app", "Work", "Set up what a repository's tests need, and see what is kept of it."),
    ),
)
