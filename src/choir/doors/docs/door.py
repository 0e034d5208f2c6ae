"""The documentation, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Door, Link

DOOR = Door(
    pages=("pages:router",),
    links=(Link("/docs", "Docs", 50),),
)
