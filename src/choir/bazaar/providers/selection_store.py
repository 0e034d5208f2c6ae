"""The query behind a selection: who meets the criteria, best first.

It reads only providers that can take a job now (a partial index keeps the others out), computes the score of
`selection_rules` in whole numbers, and brings back only the best. It can look at those that promise most only;
whether that was enough is for `selecting` to say.
"""

from __future__ import annotations

from typing import Any, LiteralString

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import rules, selection_rules
from choir.bazaar.providers.model import ONE_BPS, TIERS
from choir.bazaar.providers.selection_rules import Candidate, Criteria
from choir.bazaar.settlement.pricing import Terms
from choir.storage.database import Tx

_PRICED: LiteralString = """
    select m.provider, m.region, m.area, m.isolation, m.tier, m.slots, m.in_use, m.success_bps, m.reputation_bps,
        m.newcomer, m.shuffle, o.promise, o.version, o.bid_bps,
        least(o.base, (%s::bigint[])[m.tier + 1]) as base,
        least(o.per_unit, (%s::bigint[])[m.tier + 1]) as per_unit,
        least(o.cap, (%s::bigint[])[m.tier + 1]) as cap
"""
# The book in force, if another one has taken effect since the offer was written, less what is bid below it now.
_OFFERS: LiteralString = """
    select provider, promise, case when bid_until_us > %s then bid_bps else 0 end as bid_bps,
        case when next_us <= %s then next_version else version end as version,
        (case when next_us <= %s then next_base else base end)
            * (10000 - case when bid_until_us > %s then bid_bps else 0 end) / 10000 as base,
        (case when next_us <= %s then next_per_unit else per_unit end)
            * (10000 - case when bid_until_us > %s then bid_bps else 0 end) / 10000 as per_unit,
        (case when next_us <= %s then next_cap else cap end)
            * (10000 - case when bid_until_us > %s then bid_bps else 0 end) / 10000 as cap
    from provider_offers where type = %s and selectable
"""
_ALL: LiteralString = (
    _PRICED + " from (" + _OFFERS + ") o join provider_market m on m.provider = o.provider"
    " where m.available and m.alive_until_us > %s"
)
# The lateral makes the database fetch the few market rows one by one, where it would rather read them all.
_HIGHEST: LiteralString = (
    _PRICED + " from (" + _OFFERS + " order by promise desc limit %s) o"  # noqa: S608 - no values
    " cross join lateral (select * from provider_market where provider = o.provider offset 0) m"
    " where m.available and m.alive_until_us > %s"
)
_COLUMNS: LiteralString = (
    "c.provider, p.owner, c.region, c.isolation, c.tier, c.slots, c.in_use, c.success_bps, c.reputation_bps,"
    " c.newcomer, c.shuffle, c.version, c.base, c.per_unit, c.cap, c.bid_bps"
)
_AFFORDABLE: LiteralString = (
    "), affordable as not materialized (select * from ("
    " select *, least(base + per_unit * %s::bigint / 1000, cap) as price from priced) p where price <= %s)"
)
_BEST: LiteralString = (
    ", best as (select *,"  # noqa: S608 - no values
    " %s::bigint * ((%s::bigint - price) * 10000 / %s::bigint) / 10000 + %s::bigint * reputation_bps / 10000"
    " + %s::bigint * ((slots - in_use) * 10000 / slots) / 10000 + case when isolation >= %s then %s::bigint else 0 end"
    " + case when %s in ('', region) then %s::bigint when area = %s then %s::bigint else 0 end as total"
    " from affordable order by total desc, tier = 3 desc, shuffle # %s::bigint limit %s)"
    " select " + _COLUMNS + ", c.total from best c join providers p on p.id = c.provider"
    " order by c.total desc, c.tier = 3 desc, c.shuffle # %s::bigint"
)
_NEWCOMERS: LiteralString = (
    ", drawn as (select * from affordable where newcomer and shuffle >= %s and shuffle < %s order by shuffle limit %s)"  # noqa: S608
    " select " + _COLUMNS + " from drawn c join providers p on p.id = c.provider"
)


def best(
    tx: Tx, criteria: Criteria, now_us: int, number: int, limit: int, policy: ProvidersPolicy, *, look_at: int | None
) -> list[tuple[Candidate, int]]:
    """The best candidates, with their totals, among so many offers that promise most; None: among all."""
    top = selection_rules.top_price(criteria, policy)
    weights = selection_rules.weights_of(criteria, policy)
    geography = weights.geography
    begin, params = _candidates(criteria, now_us, policy, look_at)
    rows = tx.rows(
        begin + _BEST,
        *params,
        weights.price, top, top, weights.reputation, weights.capacity,
        selection_rules.wanted_isolation(criteria, policy), weights.isolation,
        criteria.near, geography, rules.area_of(criteria.near), geography * policy.same_area_bps // ONE_BPS,
        number, limit, number,
    )  # fmt: skip
    return [(_candidate(row), int(row[16])) for row in rows]


def promise_at(tx: Tx, type_: JobType, place: int) -> int | None:
    """The promise of the offer at a place in their order; None: there are not so many."""
    found: int | None = tx.value(
        "select promise from provider_offers where type = %s and selectable order by promise desc limit 1 offset %s",
        type_.value, place - 1,
    )  # fmt: skip
    return found


def newcomers(
    tx: Tx, criteria: Criteria, now_us: int, start: int, limit: int, policy: ProvidersPolicy
) -> list[Candidate]:
    """Newcomers among the candidates, in the order of their lots from a start on, and around."""
    begin, params = _candidates(criteria, now_us, policy, None)
    rows = tx.rows(begin + _NEWCOMERS, *params, start, 2**63 - 1, limit)
    if len(rows) < limit:
        rows += tx.rows(begin + _NEWCOMERS, *params, 0, start, limit - len(rows))
    return [_candidate(row) for row in rows]


def are_all_promised(tx: Tx, type_: JobType, name: int) -> bool:
    """Whether every offer's promise was made by the policy of this name."""
    found = tx.row(
        "select min(promised_by), max(promised_by) from provider_offers where type = %s and selectable", type_.value
    )  # the two ends of the index, however many offers there are
    return found == (name, name)


def _candidates(
    criteria: Criteria, now_us: int, policy: ProvidersPolicy, look_at: int | None
) -> tuple[LiteralString, list[Any]]:
    """How the query begins: who meets the hard criteria. Only those that are asked for are in it."""
    limits = [rules.highest_terms(criteria.type, tier, policy) for tier in TIERS]
    params: list[Any] = [
        [each.base for each in limits], [each.per_unit for each in limits], [each.cap for each in limits],
        *[now_us] * 8, criteria.type.value, *([] if look_at is None else [look_at]), now_us,
    ]  # fmt: skip
    query: LiteralString = "with priced as not materialized (" + (_ALL if look_at is None else _HIGHEST)
    if criteria.min_isolation is not None:
        query += " and m.isolation >= %s"
        params.append(int(criteria.min_isolation))
    if criteria.min_success_bps:
        query += " and m.success_bps >= %s"
        params.append(criteria.min_success_bps)
    if criteria.providers:
        query += " and m.provider = any(%s)"
        params.append(list(criteria.providers))
    if criteria.regions:
        query += " and (m.region = any(%s) or m.area = any(%s))"
        params += [list(criteria.regions)] * 2
    if criteria.excluded:
        query += " and m.provider <> all(%s)"
        params.append(list(criteria.excluded))
    return query + _AFFORDABLE, [*params, criteria.units_milli, criteria.max_price]


def _candidate(row: tuple[Any, ...]) -> Candidate:
    values = [*row[:12], Terms(*row[12:15]), row[15]]  # the columns are in the order of the fields
    return Candidate(*values)


def tally(tx: Tx, criteria: Criteria, now_us: int) -> dict[str, int]:
    """How many providers sell a type and what keeps them from being candidates; a look over all of them."""
    row = tx.row(
        "select count(*), count(*) filter (where not o.selectable),"
        " count(*) filter (where m.draining or not m.healthy),"
        " count(*) filter (where m.silent or m.alive_until_us <= %s),"
        " count(*) filter (where m.in_use >= m.slots), count(*) filter (where m.isolation < %s),"
        " count(*) filter (where %s > 0 and coalesce(m.success_bps, -1) < %s),"
        " count(*) filter (where m.provider = any(%s::uuid[]))"
        " from provider_offers o join provider_market m on m.provider = o.provider"
        " where o.type = %s and o.offered and not m.retired",
        now_us, int(criteria.min_isolation or 1), criteria.min_success_bps, criteria.min_success_bps,
        list(criteria.excluded), criteria.type.value,
    )  # fmt: skip
    assert row is not None
    names = ("known", "not_qualified", "not_taking", "silent", "full", "isolation", "success", "excluded")
    return dict(zip(names, row, strict=True))
