"""Indexes, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router",),
    commands=(Command("index", "commands:app", "Work", "Make an index of a repository, and search it."),),
)
