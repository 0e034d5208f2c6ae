"""Providers, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Audience, Command, Door, Link

DOOR = Door(
    routes=("routes:router", "market_routes:router"),
    pages=("pages:router", "selling:router"),
    links=(Link("/selling", "Selling", 15, Audience.PERSON),),
    commands=(Command("provider", "commands:app", "Work", "Sell work: run a provider, set prices, see earnings."),),
)
