"""Operators in a browser, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Door

DOOR = Door(routes=("routes:router",), pages=("pages:router", "work_pages:router"))
