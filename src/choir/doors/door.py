"""What a door is: all that one noun offers to the outside, declared in its own folder.

A noun's `door.py` has one `DOOR`, which names its routes below `/v1`, its pages, protocols and commands as
`module:attribute` below its folder, and which of its pages the navigation leads to; nothing is loaded by naming it.
`choir.doors.DOORS` lists the doors; the server, the command line, the documentation and the tests go through it. Beside
it are the noun's `shapes.py`, `routes.py`, `commands.py`, `client.py`, `pages.py` with `templates/` and `static/`,
where they apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Command:
    """A command or group of `choir`: its summary is told without loading it, and a test compares it with its own."""

    name: str
    place: str  # an application, or a function that registers it
    section: str  # of the list of commands
    summary: str  # the first sentence of its help


class Audience(StrEnum):
    """Whose navigation has a link."""

    EVERYONE = "everyone"
    STRANGER = "stranger"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Link:
    """A page that the navigation leads to."""

    path: str
    label: str
    rank: int  # from left to right
    audience: Audience = Audience.EVERYONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What a noun offers."""

    routes: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()  # routes at a path of their own, which speak neither our JSON nor HTML
    links: tuple[Link, ...] = ()
    commands: tuple[Command, ...] = ()


def load_doors(packages: Sequence[str]) -> dict[str, Door]:
    """The doors of these packages, in the same order."""
    return {package: import_module(f"{package}.door").DOOR for package in packages}


def load(package: str, place: str) -> Any:
    """What is found at a place of a door."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), attribute)
