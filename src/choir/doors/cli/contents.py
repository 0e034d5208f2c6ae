"""The list of commands: what every door offers on the command line, by what it is for. Loads none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from choir.doors import DOORS
from choir.doors.door import Command, load_doors

_ORDER = ("Start here", "Work", "Knowledge", "Money", "People and agents", "Node", "For developers", "Help")


def sections(doors: Sequence[str] = DOORS) -> dict[str, list[Command]]:
    """The commands of these doors by section, each with its whole place; a section that is not known comes last."""
    found: dict[str, list[Command]] = {title: [] for title in _ORDER}
    for package, door in load_doors(doors).items():
        for item in door.commands:
            found.setdefault(item.section, []).append(replace(item, place=f"{package}.{item.place}"))
    return {title: items for title, items in found.items() if items}
