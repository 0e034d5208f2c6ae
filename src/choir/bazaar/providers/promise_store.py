"""The promises beside the offers, in PostgreSQL; what they mean is said in `promises`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.settlement.pricing import Terms
from choir.storage.database import Tx

_BELOW: LiteralString = (
    "select provider from provider_offers where selectable and type = %s and promised_by < %s"
    " order by promised_by limit %s"
)
_ABOVE: LiteralString = (
    "select provider from provider_offers where selectable and type = %s and promised_by > %s"
    " order by promised_by limit %s"
)


@dataclass(frozen=True, slots=True)
class PricedOffer:
    """What a promise is made from."""

    provider: UUID
    type: JobType
    tier: int
    reputation_bps: int
    terms: list[Terms]  # in force now, and those that follow if there are any
    bid_bps: int  # below them, for a time


@dataclass(frozen=True, slots=True)
class Promise:
    """The promise of an offer."""

    provider: UUID
    type: JobType
    points: int


def offers(tx: Tx, providers: Collection[UUID]) -> list[PricedOffer]:
    """All that these providers offer."""
    rows = tx.rows(
        "select o.provider, o.type, m.tier, m.reputation_bps, o.base, o.per_unit, o.cap, o.next_base, o.next_per_unit,"
        " o.next_cap, o.bid_bps from provider_offers o join provider_market m on m.provider = o.provider"
        " where o.provider = any(%s)",
        list(providers),
    )
    return [
        PricedOffer(provider, JobType(type_), tier, reputation_bps, _terms(*prices), bid_bps)
        for provider, type_, tier, reputation_bps, *prices, bid_bps in rows
    ]


def put(tx: Tx, made: Sequence[Promise], name: int) -> None:
    """Keep promises, and the name of the policy that they were made by; what is so already is not written."""
    tx.run(
        "update provider_offers o set promise = new.promise, promised_by = %s"
        " from unnest(%s::uuid[], %s::text[], %s::integer[]) as new (provider, type, promise)"
        " where o.provider = new.provider and o.type = new.type"
        " and (o.promise, o.promised_by) is distinct from (new.promise, %s)",
        name, [each.provider for each in made], [each.type.value for each in made],
        [each.points for each in made], name,
    )  # fmt: skip


def outdated(tx: Tx, name: int, limit: int) -> set[UUID]:
    """Some providers whose promises another policy made."""
    found: set[UUID] = set()
    for type_ in JobType:  # by their index, so that it costs nothing where there is nothing to do
        for query in (_BELOW, _ABOVE):
            found.update(row[0] for row in tx.rows(query, type_, name, limit))
    return found


def lock(tx: Tx, providers: Sequence[UUID]) -> None:
    """Keep others from changing what these promises are made from, until the transaction ends."""
    tx.rows("select 1 from provider_market where provider = any(%s) order by provider for no key update", providers)


def _terms(base: int, per_unit: int, cap: int, *following: Any) -> list[Terms]:
    return [Terms(base, per_unit, cap), *([] if following[0] is None else [Terms(*following)])]
