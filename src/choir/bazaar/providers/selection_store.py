"""The query behind a selection: who meets the criteria, best first.

It reads only providers that can take a job now (a partial index keeps the others out), computes the score of
`selection_rules` in whole numbers, and brings back only the best.
"""

from __future__ import annotations

from typing import Any, LiteralString

from choir.bazaar.providers import rules, selection_rules
from choir.bazaar.providers.model import ONE_BPS, TIERS, Terms
from choir.bazaar.providers.selection_rules import Candidate, Criteria
from choir.foundation.policy import ProvidersPolicy
from choir.storage.database import Tx

_PRICED: LiteralString = """
    select m.provider, m.region, m.area, m.isolation, m.tier, m.slots, m.in_use, m.success_bps, m.reputation_bps,
        m.newcomer, m.shuffle, %s::bigint as units,
        case when o.next_us <= now.us then o.next_version else o.version end as version,
        least(case when o.next_us <= now.us then o.next_base else o.base end, (%s::bigint[])[m.tier + 1]) as base,
        least(case when o.next_us <= now.us then o.next_per_unit else o.per_unit end, (%s::bigint[])[m.tier + 1])
            as per_unit,
        least(case when o.next_us <= now.us then o.next_cap else o.cap end, (%s::bigint[])[m.tier + 1]) as cap
    from (select %s::bigint as us) as now
    join provider_market m on m.available and m.alive_until_us > now.us
    join provider_offers o on o.provider = m.provider and o.type = %s and o.selectable
    where m.isolation >= %s and (%s = 0 or m.success_bps >= %s)
        and (%s::uuid[] = '{}' or m.provider = any(%s::uuid[]))
        and (%s::text[] = '{}' or m.region = any(%s::text[]) or m.area = any(%s::text[]))
        and m.provider <> all(%s::uuid[])
"""
_COLUMNS: LiteralString = (
    "c.provider, p.owner, c.region, c.isolation, c.tier, c.slots, c.in_use, c.success_bps, c.reputation_bps,"
    " c.newcomer, c.shuffle, c.version, c.base, c.per_unit, c.cap"
)
_BEST: LiteralString = (
    "with priced as not materialized (" + _PRICED + "), affordable as not materialized ("  # noqa: S608 - no values
    " select *, least(base + per_unit * units / 1000, cap) as price from priced"
    "), best as (select *,"
    " %s::bigint * ((%s::bigint - price) * 10000 / %s::bigint) / 10000 + %s::bigint * reputation_bps / 10000"
    " + %s::bigint * ((slots - in_use) * 10000 / slots) / 10000 + case when isolation >= %s then %s::bigint else 0 end"
    " + case when %s in ('', region) then %s::bigint when area = %s then %s::bigint else 0 end as total"
    " from affordable where price <= %s order by total desc, tier = 3 desc, shuffle # %s::bigint limit %s)"
    " select " + _COLUMNS + ", c.total from best c join providers p on p.id = c.provider"
    " order by c.total desc, c.tier = 3 desc, c.shuffle # %s::bigint"
)
_NEWCOMER: LiteralString = (
    "with priced as not materialized (" + _PRICED + "), drawn as (select * from priced"  # noqa: S608 - no values
    " where newcomer and least(base + per_unit * units / 1000, cap) <= %s order by shuffle # %s::bigint limit 1)"
    " select " + _COLUMNS + " from drawn c join providers p on p.id = c.provider"
)


def best(
    tx: Tx, criteria: Criteria, now_us: int, number: int, limit: int, policy: ProvidersPolicy
) -> list[tuple[Candidate, int]]:
    """The best candidates with their totals."""
    top = selection_rules.top_price(criteria, policy)
    geography = policy.weight_geography_bps
    rows = tx.rows(
        _BEST,
        *_priced(criteria, now_us, policy),
        policy.weight_price_bps, top, top, policy.weight_reputation_bps, policy.weight_capacity_bps,
        selection_rules.wanted_isolation(criteria, policy), policy.weight_isolation_bps,
        criteria.near, geography, rules.area_of(criteria.near), geography * policy.same_area_bps // ONE_BPS,
        criteria.max_price, number, limit, number,
    )  # fmt: skip
    return [(_candidate(row), int(row[15])) for row in rows]


def newcomer(tx: Tx, criteria: Criteria, now_us: int, number: int, policy: ProvidersPolicy) -> Candidate | None:
    """One of the newcomers among the candidates, by lot."""
    row = tx.row(_NEWCOMER, *_priced(criteria, now_us, policy), criteria.max_price, number)
    return None if row is None else _candidate(row)


def _priced(criteria: Criteria, now_us: int, policy: ProvidersPolicy) -> tuple[Any, ...]:
    limits = [rules.highest_terms(criteria.type, tier, policy) for tier in TIERS]
    only, regions = list(criteria.providers), list(criteria.regions)
    return (
        criteria.units_milli,
        [each.base for each in limits], [each.per_unit for each in limits], [each.cap for each in limits],
        now_us, criteria.type.value,
        int(criteria.min_isolation or 1), criteria.min_success_bps, criteria.min_success_bps,
        only, only, regions, regions, regions, list(criteria.excluded),
    )  # fmt: skip


def _candidate(row: tuple[Any, ...]) -> Candidate:
    values = [*row[:12], Terms(*row[12:15])]  # the columns are in the order of the fields
    return Candidate(*values)


def tally(tx: Tx, criteria: Criteria, now_us: int) -> dict[str, int]:
    """How many providers of a type there are and what keeps them from being candidates; a look over all of them."""
    row = tx.row(
        "select count(*), count(*) filter (where not o.selectable),"
        " count(*) filter (where m.retired or m.draining or not m.healthy),"
        " count(*) filter (where m.silent or m.alive_until_us <= %s),"
        " count(*) filter (where m.in_use >= m.slots), count(*) filter (where m.isolation < %s),"
        " count(*) filter (where %s > 0 and coalesce(m.success_bps, -1) < %s),"
        " count(*) filter (where m.provider = any(%s::uuid[]))"
        " from provider_offers o join provider_market m on m.provider = o.provider where o.type = %s",
        now_us, int(criteria.min_isolation or 1), criteria.min_success_bps, criteria.min_success_bps,
        list(criteria.excluded), criteria.type.value,
    )  # fmt: skip
    assert row is not None
    names = ("known", "not_qualified", "not_taking", "silent", "full", "isolation", "success", "excluded")
    return dict(zip(names, row, strict=True))
