"""Providers, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Command, Door

DOOR = Door(
    routes=("routes:router",),
    commands=(Command("provider", "commands:app", "Work", "Sell work: run a provider, set prices, see earnings."),),
)
