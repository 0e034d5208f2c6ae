"""Listings in full, for pages that show all of something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar
from uuid import UUID

from choir.identity.delegations.rules import NO_ID


class _Listed(Protocol):
    @property
    def id(self) -> UUID: ...


T = TypeVar("T", bound=_Listed)


def all_of(fetch: Callable[[UUID], list[T]]) -> list[T]:
    """Every page of a listing."""
    found: list[T] = []
    while page := fetch(found[-1].id if found else NO_ID):
        found += page
    return found
