"""The writer's desk, as a door of a node: pages alone, since every act is another noun's."""

from __future__ import annotations

from choir.doors.door import Audience, Door, Link

DOOR = Door(
    pages=("pages:router", "editor_pages:router"),
    links=(Link("/desk", "Desk", 25, Audience.PERSON),),
)
