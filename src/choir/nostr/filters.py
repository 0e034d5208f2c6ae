"""Filters (NIP-01): which events somebody wants to see.

Guarantees: a filter of a stranger is read strictly and within limits; what is not known in it is refused, because to
ignore it would show more than was asked for. `matches` alone says what a filter means; a store may only be faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from choir.foundation.errors import Invalid
from choir.nostr.events import KIND_MAX, TIME_MAX, NostrEvent

_HEX_32 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TAG = re.compile(r"#[A-Za-z]", re.ASCII)


class BadFilter(Invalid):
    """Something that is not a filter, or one that asks for too much."""

    code = "nostr.bad_filter"
    sentence = "That is not a valid filter: {why}."


@dataclass(frozen=True, slots=True)
class FilterLimits:
    """What a stranger may ask for."""

    values_max: int  # in all lists of a filter together
    value_bytes_max: int
    limit_max: int  # events that one filter gets from the past


@dataclass(frozen=True, slots=True)
class Filter:
    """All conditions hold together; nothing stands for no condition, an empty set for one that nothing meets."""

    ids: Set[bytes] | None = None
    authors: Set[bytes] | None = None
    kinds: Set[int] | None = None
    tags: Mapping[str, Set[str]] = field(default_factory=dict)  # by the tag's letter; any of its values
    since: int | None = None
    until: int | None = None
    limit: int | None = None

    def matches(self, event: NostrEvent) -> bool:
        """Whether the event is asked for; `limit` is about how many, not which."""
        return (
            (self.ids is None or event.id in self.ids)
            and (self.authors is None or event.pubkey in self.authors)
            and (self.kinds is None or event.kind in self.kinds)
            and (self.since is None or event.created_at >= self.since)
            and (self.until is None or event.created_at <= self.until)
            and all(not wanted.isdisjoint(event.values(name)) for name, wanted in self.tags.items())
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing can ever match."""
        lists = (self.ids, self.authors, self.kinds, *self.tags.values())
        inverted = self.since is not None and self.until is not None and self.since > self.until
        return inverted or any(found is not None and not found for found in lists)


def parse_filter(value: Any, limits: FilterLimits) -> Filter:
    """A filter from decoded JSON."""
    if not isinstance(value, dict):
        raise BadFilter(why="it must be an object")
    _check_size(value, limits)
    tags: dict[str, Set[str]] = {}
    for name in value:
        if name.startswith("#"):
            if _TAG.fullmatch(name) is None:
                raise BadFilter(why="only tags of one letter can be asked for")
            tags[name[1]] = frozenset(_texts(value[name], name, limits))
        elif name not in _READERS:
            raise BadFilter(why=f"'{name[:40]}' is not known")
    found: dict[str, Any] = {name: read(value[name], name) for name, read in _READERS.items() if name in value}
    if found.get("limit") is not None:
        found["limit"] = min(found["limit"], limits.limit_max)
    return Filter(tags=tags, **found)


def filter_json(wanted: Filter) -> dict[str, Any]:
    """A filter as JSON, for asking another relay."""
    told: dict[str, Any] = {}
    for name, keys in (("ids", wanted.ids), ("authors", wanted.authors)):
        if keys is not None:
            told[name] = sorted(key.hex() for key in keys)
    if wanted.kinds is not None:
        told["kinds"] = sorted(wanted.kinds)
    told |= {f"#{name}": sorted(values) for name, values in wanted.tags.items()}
    numbers = (("since", wanted.since), ("until", wanted.until), ("limit", wanted.limit))
    return told | {name: number for name, number in numbers if number is not None}


def _check_size(value: dict[str, Any], limits: FilterLimits) -> None:
    if sum(len(item) if isinstance(item, list) else 1 for item in value.values()) > limits.values_max:
        raise BadFilter(why=f"it has more than {limits.values_max} values")


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadFilter(why=f"{name} must be a list")
    return value


def _keys(value: Any, name: str) -> frozenset[bytes]:
    items = _list(value, name)
    if not all(isinstance(item, str) and _HEX_32.fullmatch(item) for item in items):
        raise BadFilter(why=f"{name} must be 64 lower-case hex digits each")
    return frozenset(bytes.fromhex(item) for item in items)


def _kinds(value: Any, name: str) -> frozenset[int]:
    return frozenset(_whole(item, name, KIND_MAX) for item in _list(value, name))


def _texts(value: Any, name: str, limits: FilterLimits) -> list[str]:
    items = _list(value, name)
    if not all(isinstance(item, str) and len(item) <= limits.value_bytes_max for item in items):
        raise BadFilter(why=f"{name} must be texts of at most {limits.value_bytes_max} characters")
    try:
        "".join(items).encode()
    except UnicodeEncodeError:
        raise BadFilter(why=f"{name} is not Unicode") from None
    return items


def _whole(value: Any, name: str, high: int = TIME_MAX) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise BadFilter(why=f"{name} must be a whole number from 0 to {high}")
    return value


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "ids": _keys,
    "authors": _keys,
    "kinds": _kinds,
    "since": _whole,
    "until": _whole,
    "limit": _whole,
}
