"""The hall, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Door, Link

DOOR = Door(
    routes=("routes:router",),
    pages=("pages:router", "order_page:router", "job_page:router"),
    links=(Link("/hall", "Hall", 10),),
)
