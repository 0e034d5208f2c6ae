"""Pages and times as callers give them: for every listing the same limit and the same rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol, TypeVar
from uuid import UUID

from fastapi import Query

from choir.doors.delegations.shapes import Lasting
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.errors import Invalid
from choir.foundation.policy import PAGE_ROWS_MOST
from choir.identity.delegations.rules import NO_ID
from choir.node import Node

T = TypeVar("T")

_DAY_US = 86_400 * MICROSECONDS
_NOT_A_CURSOR = "it must be the `next` of a page"

Limit = Annotated[int, Query(ge=1, le=PAGE_ROWS_MOST, description="Maximum number of rows; policy may allow fewer.")]
IdCursor = Annotated[str, Query(max_length=60, pattern=r"^[a-z0-9_]*$", description="`next` of the previous page.")]
NumberCursor = Annotated[str, Query(max_length=18, pattern=r"^[0-9]*$", description="`next` of the previous page.")]


def last_id(cursor: str, parse: Callable[[str], UUID]) -> UUID:
    """The id that a page begins behind."""
    return parse(cursor) if cursor else NO_ID


def last_number(cursor: str) -> int | None:
    """The number that a page begins before; None: at the newest."""
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdecimal()):
        raise Invalid(what="cursor", why=_NOT_A_CURSOR)
    return int(cursor)


class Paged(Protocol):
    """The policy of a part that has listings."""

    @property
    def page_rows_max(self) -> int: ...


def page_rows(asked: int, policy: Paged) -> int:
    """How many rows a page has: what was asked for, within the policy of its part."""
    return min(asked, policy.page_rows_max)


def page(found: list[T], size: int, cursor: Callable[[T], str]) -> tuple[list[T], str | None]:
    """The page, of rows of which one more was read, and behind what the next begins, if there is one."""
    shown = found[:size]
    return shown, cursor(shown[-1]) if len(found) > size else None


def expires_us(node: Node, asked: Lasting) -> int:
    """When something is to end, from how long it is to last or from its end."""
    if (asked.days is None) == (asked.expires_at is None):
        raise Invalid(what="The request", why="give either `days` or `expires_at`")
    if asked.days is not None:
        return node.clock.now_us() + asked.days * _DAY_US
    assert asked.expires_at is not None
    return parse_time(asked.expires_at)


def before_id(cursor: str, parse: Callable[[str], UUID]) -> UUID | None:
    """The id that a page begins before; None: at the newest."""
    return parse(cursor) if cursor else None
