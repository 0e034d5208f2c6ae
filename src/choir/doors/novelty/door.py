"""Novelty, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(Command("novelty", "commands:app", "Knowledge", "Measure how new an article is, and what that earns."),),
)
