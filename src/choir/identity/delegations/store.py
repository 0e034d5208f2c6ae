"""Delegations, caps and what was spent of them, in PostgreSQL.

Whoever charges a delegation, narrows it or gives back to it locks its whole chain first, from the root.
That makes reading a cap and charging it one step; revoking needs the same row, so once a revocation is
committed nothing that was under way can still charge. Row locks are queued in order, so no stream of
spends can keep a revocation waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from choir.identity.delegations.model import Cap, Delegation, Period
from choir.identity.delegations.rules import CapState, ChainLink, Charge
from choir.identity.model import Scope
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class HoldCharge:
    """A hold that was charged to a delegation, and when."""

    hold: UUID
    delegation: UUID
    asset: str
    charged_us: int


def insert(tx: Tx, one: Delegation, by_token: UUID | None = None) -> None:
    """Add a delegation; `by_token` is the token that passed it on, with which it ends."""
    tx.run(
        "insert into delegations (id, person, agent, parent, depth, scopes, expires_us, created_us, name, by_token)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        one.id, one.person, one.agent, one.parent, one.depth, sorted(one.scopes), one.expires_us, one.created_us,
        one.name, by_token,
    )  # fmt: skip
    tx.run(
        "insert into delegation_caps (delegation, asset, period, cap)"
        " select %s, asset, period, cap from unnest(%s::text[], %s::text[], %s::bigint[]) as c (asset, period, cap)",
        one.id,
        [cap.asset for cap in one.caps],
        [cap.period.value for cap in one.caps],
        [cap.cap for cap in one.caps],
    )


def get(tx: Tx, id_: UUID) -> Delegation | None:
    row = tx.row(_SELECT + " where d.id = %s", id_)
    return None if row is None else _delegation(row)


def of_person(tx: Tx, person: UUID, after: UUID, limit: int) -> list[Delegation]:
    rows = tx.rows(_SELECT + " where d.person = %s and d.id > %s order by d.id limit %s", person, after, limit)
    return [_delegation(row) for row in rows]


def newest_of_person(tx: Tx, person: UUID, before: UUID | None, limit: int) -> list[Delegation]:
    rows = tx.rows(
        _SELECT + " where d.person = %s and (%s::uuid is null or d.id < %s) order by d.id desc limit %s",
        person, before, before, limit,
    )  # fmt: skip
    return [_delegation(row) for row in rows]


def of_agent(tx: Tx, agent: UUID, after: UUID, limit: int) -> list[Delegation]:
    rows = tx.rows(_SELECT + " where d.agent = %s and d.id > %s order by d.id limit %s", agent, after, limit)
    return [_delegation(row) for row in rows]


def live_count(tx: Tx, person: UUID, now_us: int) -> int:
    return int(
        tx.value(
            "select count(*) from delegations where person = %s and revoked_us is null and expires_us > %s",
            person, now_us,
        )
    )  # fmt: skip


def candidates(tx: Tx, agent: UUID, person: UUID, now_us: int, limit: int) -> list[UUID]:
    """What an agent has of a person and is good in itself; what is above it is another question."""
    rows = tx.rows(
        "select id from delegations where agent = %s and person = %s and revoked_us is null and expires_us > %s"
        " order by id limit %s",
        agent, person, now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def chain(tx: Tx, id_: UUID) -> list[ChainLink]:
    """The delegation and everything above it, root first; empty if there is none."""
    return [_link(row) for row in tx.rows(_CHAIN + _ROOT_FIRST, [id_])]


def lock_chain(tx: Tx, id_: UUID) -> list[ChainLink]:
    """The same, locked until the transaction ends."""
    return [_link(row) for row in tx.rows(_CHAIN + _ROOT_FIRST + " for no key update of d", [id_])]


def lock_chains(tx: Tx, ids: Sequence[UUID]) -> None:
    """Lock several chains in the order that every single one is locked in."""
    tx.rows(_CHAIN + _ROOT_FIRST + " for no key update of d", list(ids))


def is_above(tx: Tx, id_: UUID, upper: UUID) -> bool:
    """Whether the second delegation is the first or one that it was narrowed from."""
    return any(link.id == upper for link in chain(tx, id_))


def revoke(tx: Tx, id_: UUID, now_us: int) -> bool:
    """End a delegation, and by that all that was narrowed from it."""
    return tx.run("update delegations set revoked_us = %s where id = %s and revoked_us is null", now_us, id_) == 1


def revoke_all(tx: Tx, person: UUID, now_us: int) -> int:
    """End every delegation of a person; says how many were good until now."""
    found = tx.rows(
        "select id, expires_us from delegations where person = %s and revoked_us is null order by depth, id"
        " for no key update",
        person,
    )
    tx.run("update delegations set revoked_us = %s where id = any(%s)", now_us, [row[0] for row in found])
    return sum(expires_us > now_us for _, expires_us in found)


def revoke_by_tokens(tx: Tx, tokens: Sequence[UUID], now_us: int) -> list[Delegation]:
    """End what these tokens passed on; says what it was."""
    live = tx.rows(
        "select id from delegations where by_token = any(%s) and revoked_us is null order by depth, id"
        " for no key update",
        list(tokens),
    )
    ids = [row[0] for row in live]
    tx.run("update delegations set revoked_us = %s where id = any(%s)", now_us, ids)
    return [_delegation(row) for row in tx.rows(_SELECT + " where d.id = any(%s) order by d.id", ids)]


def cap_states(tx: Tx, ids: Sequence[UUID], windows: dict[Period, int], asset: str | None = None) -> list[CapState]:
    """Caps of these delegations with what was spent in the current windows."""
    rows = tx.rows(_CAP_STATES, list(windows), list(windows.values()), list(ids), asset, asset)
    return [CapState(id_, name, Period(period), cap, spent) for id_, name, period, cap, spent in rows]


def spends(tx: Tx, ids: Sequence[UUID], windows: int) -> list[Charge]:
    """What was spent of each cap of these delegations in its last windows that have any, newest first."""
    return [
        Charge(id_, asset, Period(period), *spent)
        for id_, asset, period, *spent in tx.rows(_SPENDS, windows, list(ids))
    ]


def charge(tx: Tx, charges: Sequence[Charge]) -> None:
    """Write what was decided under the lock. The condition is a second wall: it can never not hold."""
    written = tx.run(_CHARGE, *_columns(charges))
    assert written == len(charges), "a cap changed under the lock of its chain"


def give_back(tx: Tx, charges: Sequence[Charge]) -> None:
    """Take amounts off again, never below zero."""
    tx.run(_GIVE_BACK, *_columns(charges))


def note_hold(tx: Tx, charged: HoldCharge) -> None:
    tx.run(
        "insert into delegation_holds (hold, delegation, asset, charged_us) values (%s, %s, %s, %s)",
        charged.hold, charged.delegation, charged.asset, charged.charged_us,
    )  # fmt: skip


def charged_holds(tx: Tx, holds: Sequence[UUID]) -> dict[UUID, HoldCharge]:
    rows = tx.rows("select hold, delegation, asset, charged_us from delegation_holds where hold = any(%s)", list(holds))
    return {row[0]: HoldCharge(*row) for row in rows}


def _columns(charges: Sequence[Charge]) -> tuple[list[Any], ...]:
    return (
        [item.delegation for item in charges],
        [item.asset for item in charges],
        [item.period.value for item in charges],
        [item.begins_us for item in charges],
        [item.amount for item in charges],
    )


def _delegation(row: tuple[Any, ...]) -> Delegation:
    id_, person, agent, parent, depth, scopes, expires_us, created_us, revoked_us, name, caps = row
    return Delegation(
        id=id_,
        person=person,
        agent=agent,
        parent=parent,
        depth=depth,
        scopes=frozenset(Scope(scope) for scope in scopes),
        caps=tuple(Cap(asset, Period(period), int(cap)) for asset, period, cap in caps),
        expires_us=expires_us,
        created_us=created_us,
        revoked_us=revoked_us,
        name=name,
    )


def _link(row: tuple[Any, ...]) -> ChainLink:
    id_, depth, person, agent, scopes, *times = row
    return ChainLink(id_, depth, person, agent, frozenset(Scope(scope) for scope in scopes), *times)


_SELECT: LiteralString = """
    select d.id, d.person, d.agent, d.parent, d.depth, d.scopes, d.expires_us, d.created_us, d.revoked_us, d.name,
        coalesce(
            (select jsonb_agg(jsonb_build_array(c.asset, c.period, c.cap::text) order by c.asset, c.period)
             from delegation_caps c where c.delegation = d.id), '[]')
    from delegations d
"""

_CHAIN: LiteralString = """
    with recursive chain as (
        select id, parent from delegations where id = any(%s)
        union
        select d.id, d.parent from delegations d join chain c on d.id = c.parent
    )
    select d.id, d.depth, d.person, d.agent, d.scopes, d.expires_us, d.revoked_us, a.retired_us, p.erased_us
    from chain c
    join delegations d on d.id = c.id
    join agents a on a.id = d.agent
    join people p on p.id = d.person
"""

_ROOT_FIRST: LiteralString = " order by d.depth, d.id"

_CAP_STATES = """
    select c.delegation, c.asset, c.period, c.cap, coalesce(s.spent, 0)
    from delegation_caps c
    join unnest(%s::text[], %s::bigint[]) as now_in (period, begins_us) on now_in.period = c.period
    left join delegation_spends s
        on s.delegation = c.delegation and s.asset = c.asset and s.period = c.period
        and s.begins_us = now_in.begins_us
    where c.delegation = any(%s) and (%s::text is null or c.asset = %s)
"""

_SPENDS = """
    select c.delegation, c.asset, c.period, s.begins_us, s.spent
    from delegation_caps c
    cross join lateral (
        select w.begins_us, w.spent from delegation_spends w
        where w.delegation = c.delegation and w.asset = c.asset and w.period = c.period
        order by w.begins_us desc limit %s
    ) s
    where c.delegation = any(%s) order by c.delegation, c.asset, c.period, s.begins_us desc
"""

_CHARGE = """
    insert into delegation_spends as s (delegation, asset, period, begins_us, spent)
    select delegation, asset, period, c.begins_us, c.amount
    from unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[], %s::bigint[])
        with ordinality as c (delegation, asset, period, begins_us, amount, n)
    join delegation_caps k using (delegation, asset, period)
    where c.amount <= k.cap
    order by c.n
    on conflict (delegation, asset, period, begins_us) do update set spent = s.spent + excluded.spent
    where s.spent <= (select cap from delegation_caps k where k.delegation = s.delegation
                      and k.asset = s.asset and k.period = s.period) - excluded.spent
"""

_GIVE_BACK = """
    update delegation_spends s set spent = greatest(0, s.spent - c.amount)
    from unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[], %s::bigint[])
        as c (delegation, asset, period, begins_us, amount)
    where s.delegation = c.delegation and s.asset = c.asset and s.period = c.period and s.begins_us = c.begins_us
"""
