"""The relay, as a door of a node."""

from __future__ import annotations

from choir.doors.door import Door

DOOR = Door(protocols=("routes:router",))
