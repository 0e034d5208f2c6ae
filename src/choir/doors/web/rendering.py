"""Templates become pages.

Guarantees: everything is escaped unless a template of ours says otherwise; a name that a page was not given
is an error and not an empty place; a page is never kept by a browser or proxy, since it shows private things.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from choir.doors import DOORS
from choir.doors.door import Audience, Link, load_doors
from choir.doors.web import assets, words
from choir.doors.web.purse import purse
from choir.doors.web.strangers import excerpt, seen
from choir.foundation.clock import MICROSECONDS, format_time, to_datetime
from choir.foundation.ids import show_id
from choir.foundation.money import Asset

_HEADERS = {"Cache-Control": "no-store", "Vary": "Cookie"}
_STEPS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_DOLLARS = frozenset({"USDC", "USD"})
_OPEN_SIDES = 0.07  # the share of a half turn that the rows leave free at each side


def page(request: Request, template: str, context: Mapping[str, Any] | None = None, status: int = 200) -> HTMLResponse:
    """A page around what the visitor may know."""
    node = request.app.state.node
    visitor = (context or {}).get("visitor")
    frame = {
        "path": request.url.path,
        "now_us": node.clock.now_us(),
        "node_id": show_id("node", node.identity.id),
        "mode": node.identity.mode,
        "version": version("choir"),
        "origin": node.passkeys.party.origin,
        "visitor": None,
        "links": links(request.app.state.doors, signed_in=visitor is not None),
        "purse": [],
    }
    if visitor is not None:
        with node.read() as tx:
            frame["purse"] = purse(node, tx, visitor.person.owner)
    text = environment(request.app.state.doors).get_template(template).render({**frame, **(context or {})})
    return HTMLResponse(text, status_code=status, headers=_HEADERS)


@cache
def environment(doors: tuple[str, ...] = DOORS) -> Environment:
    """One for the process: templates are compiled once. Each door brings its own; the frame around them is here."""
    own = [package for package, door in load_doors(doors).items() if door.pages]
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in ("choir.doors.web", *own)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(asset=assets.address, words=words, voices=voices())
    made.filters.update(
        amount=amount,
        ago=ago,
        until=until,
        day=day,
        moment=format_time,
        typed=typed,
        money=money,
        short=short,
        seen=seen,
        excerpt=excerpt,
    )
    return made


@cache
def links(doors: tuple[str, ...], *, signed_in: bool) -> list[Link]:
    """What the navigation leads to, from left to right."""
    other = Audience.STRANGER if signed_in else Audience.PERSON
    found = [link for door in load_doors(doors).values() for link in door.links if link.audience is not other]
    return sorted(found, key=lambda link: link.rank)


class Amount(NamedTuple):
    """An amount in the parts that a page shows differently."""

    whole: str
    fraction: str


def amount(units: int, asset: str) -> Amount:
    """Exact, with the decimals that the asset has."""
    whole, _, fraction = Asset.of(asset).format(units).partition(".")
    return Amount(whole, fraction)


def typed(units: int, asset: str) -> str:
    """An amount as somebody would say it: without noughts that say nothing."""
    whole, _, fraction = Asset.of(asset).format(units).partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    return f"{sign}{int(digits):,}.{fraction.rstrip('0')}".rstrip(".")


def money(units: int, asset: str) -> str:
    """An amount with its asset, as people write it: $1,234.50, or 1,234.5 SAT."""
    told = typed(units, asset)
    if asset not in _DOLLARS:
        return f"{told} {asset}"
    sign, told = ("-", told[1:]) if told.startswith("-") else ("", told)
    whole, _, fraction = told.partition(".")
    return f"{sign}${whole}.{fraction:0<2}"


def short(text: str, ends: int = 6) -> str:
    """A hash or an id that nobody reads whole; where it matters, the whole is beside it."""
    return text if len(text) <= 3 * ends else f"{text[: text.find(':') + 1 + ends]}…{text[-ends:]}"


def ago(at_us: int, now_us: int) -> str:
    """How long ago something was, roughly."""
    told = _span((now_us - at_us) // MICROSECONDS)
    return f"{told} ago" if told else "just now"


def until(at_us: int, now_us: int) -> str:
    """How long something still lasts, roughly."""
    told = _span((at_us - now_us) // MICROSECONDS)
    return f"in {told}" if told else "in less than a minute"


def _span(seconds: int) -> str:
    for size, name in _STEPS:
        count = (seconds + size // 2) // size
        if seconds >= size - size // 60:  # what is within a sixtieth of an hour is said to be one
            return f"{count} {name}{'' if count == 1 else 's'}"
    return ""


def day(at_us: int) -> str:
    """A date as people write it."""
    at = to_datetime(at_us)
    return f"{at.day} {at:%b %Y}"


class Singer(NamedTuple):
    """A dot of the picture on the first page."""

    x: float
    y: float
    r: float
    loud: str


def voices(rows: int = 5, first: int = 6, more: int = 5) -> list[list[Singer]]:
    """Where the singers of the picture stand, and how loud each is: rows in arcs around one point."""
    places = []
    for row in range(rows):
        count, radius = first + more * row, 54 + 35 * row
        turn = math.pi * (1 - 2 * _OPEN_SIDES) / (count - 1)
        angles = [math.pi * (1 + _OPEN_SIDES) + turn * place for place in range(count)]
        places.append(
            [
                Singer(round(math.cos(angle) * radius, 1), round(math.sin(angle) * radius, 1), 4.2 + 0.5 * row, loud)
                for angle, loud in zip(angles, _loudness(row, count), strict=True)
            ]
        )
    return places


def _loudness(row: int, count: int) -> list[str]:
    """Uneven and always the same."""
    return [
        ("low", "high", "mid", "low", "high", "mid", "mid")[(place * place + 3 * row) % 7] for place in range(count)
    ]
