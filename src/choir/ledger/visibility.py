"""Who sees what of an entry.

Everybody sees an entry's number, time, kind, hash and proof, every amount with its asset, and each leg between accounts
of the treasury, the node, issuance and the world outside. A leg that names a person, an agent or a hold is whole only
for whoever owns one of its sides (a person owns the accounts of their agents, and the holds that they pay) and for
operators; for others that side is "a person", "an agent", "a hold". What else is in an entry (its reason, references,
receipt and key) is for whoever sees all of its legs; a memo is for its parties alone.

Guarantee: pure, and the only place that decides this. The rule stands in docs/decisions/ledger-visibility.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choir.ledger.model import account_name

_PRIVATE = frozenset({"person", "agent", "hold"})
_OPERATOR = "operator:"  # begins the name of one operator, also within references


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who looks at entries."""

    owners: frozenset[str] = frozenset()  # "person:…", "agent:…", "hold:…": whose accounts are theirs
    operator: bool = False


NOBODY = Reader()


@dataclass(frozen=True, slots=True)
class Side:
    """One account of a leg, as a reader sees it."""

    kind: str  # person, agent, hold, treasury, system, world
    account: str | None  # None: only the kind is told

    @property
    def owner(self) -> str | None:
        return None if self.account is None else self.account.partition("/")[0]


@dataclass(frozen=True, slots=True)
class VisibleLeg:
    from_: Side
    to: Side
    amount: int
    asset: str
    rest: bool

    @property
    def whole(self) -> bool:
        return self.from_.account is not None and self.to.account is not None


@dataclass(frozen=True, slots=True)
class VisibleEntry:
    """An entry as a reader sees it."""

    legs: tuple[VisibleLeg, ...]
    source: str | None  # who posted it; None: only its kind is told
    source_kind: str
    whole: bool  # nothing is left out, so the reader may have the hashed content itself
    party: bool  # one of the accounts is the reader's, so a memo is for them too


def visible(content: dict[str, Any], reader: Reader) -> VisibleEntry:
    """What this reader sees of an entry with this content."""
    legs = tuple(_leg(leg, reader) for leg in content["legs"])
    known = {side.owner for leg in legs if leg.whole for side in (leg.from_, leg.to)} | reader.owners
    source: str = content["source"]
    kind = source.partition(":")[0]
    hidden = kind in _PRIVATE or source.startswith(_OPERATOR)
    told = reader.operator or not hidden or source in known
    named = any(_OPERATOR in ref for ref in content.get("refs", ()))  # operators who agreed to it
    return VisibleEntry(
        legs=legs,
        source=source if told else None,
        source_kind=kind,
        whole=reader.operator or (told and not named and all(leg.whole for leg in legs)),
        party=any(_owner(leg[end]) in reader.owners for leg in content["legs"] for end in ("from", "to")),
    )


def owners_in(content: dict[str, Any]) -> set[str]:
    """Whose accounts the legs name."""
    return {_owner(leg[end]) for leg in content["legs"] for end in ("from", "to")}


def _leg(leg: dict[str, Any], reader: Reader) -> VisibleLeg:
    sides = [leg["from"], leg["to"]]
    open_ = (
        reader.operator
        or any(_owner(side) in reader.owners for side in sides)
        or not any(_kind(side) in _PRIVATE for side in sides)
    )
    from_, to = [Side(_kind(side), side if open_ or _kind(side) not in _PRIVATE else None) for side in sides]
    return VisibleLeg(from_, to, int(leg["amount"]), account_name(leg["from"]).asset.name, bool(leg.get("rest")))


def _owner(account: str) -> str:
    return account.partition("/")[0]


def _kind(account: str) -> str:
    return account.partition(":")[0]
