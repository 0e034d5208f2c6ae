"""What a door is: all that one noun offers to the outside, declared in its own folder.

A noun's `door.py` has one `DOOR`, which names its routes below `/v1`, its pages and its commands as `module:attribute`
below its folder; nothing is loaded by naming it. `choir.doors.DOORS` lists the doors; the server, the command line,
the documentation and the tests go through it. Beside it are the noun's `shapes.py`, `routes.py`, `commands.py`,
`client.py`, `pages.py` with `templates/`, where they apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """A command or group of `choir`: its summary is told without loading it, and a test compares it with its own."""

    name: str
    place: str  # an application, or a function that registers it
    section: str  # of the list of commands
    summary: str  # the first sentence of its help


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What a noun offers."""

    routes: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()


def load_doors(packages: Sequence[str]) -> dict[str, Door]:
    """The doors of these packages, in the same order."""
    return {package: import_module(f"{package}.door").DOOR for package in packages}


def load(package: str, place: str) -> Any:
    """What is found at a place of a door."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), attribute)
