"""Cluster links in PostgreSQL, and those that follow from agents and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from choir.storage.database import Tx


def insert(tx: Tx, a: str, b: str, reason: str, evidence: str, now_us: int) -> None:
    tx.run(
        "insert into cluster_links (a, b, reason, evidence, at_us) values (%s, %s, %s, %s, %s) on conflict do nothing",
        a, b, reason, evidence, now_us,
    )  # fmt: skip


def delete(tx: Tx, a: str, b: str, reason: str) -> bool:
    return tx.run("delete from cluster_links where a = %s and b = %s and reason = %s", a, b, reason) == 1


def links_of(
    tx: Tx, owners: Sequence[str], people: Sequence[UUID], agents: Sequence[UUID], limit: int
) -> list[tuple[Any, ...]]:
    """Up to so many links of these owners: (a, b, person, agent, reason, evidence).

    An agent and its person come as ids, because only the program writes ids the way owners are named.
    """
    named = list(owners)
    bounds = (named, limit, named, limit, list(people), limit, list(agents), limit, named, limit, named, limit, limit)
    return tx.rows(_LINKS, *bounds)


def add_home(tx: Tx, owner: str, home: bytes, now_us: int) -> None:
    tx.run(
        "insert into owner_homes (owner, home, at_us) values (%s, %s, %s) on conflict do nothing", owner, home, now_us
    )


def homes(tx: Tx, owner: str) -> list[bytes]:
    return [bytes(row[0]) for row in tx.rows("select home from owner_homes where owner = %s order by home", owner)]


def page(tx: Tx, reason: str, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
    """Some noted links of one reason, by their owners."""
    rows = tx.rows(
        "select a, b from cluster_links where reason = %s and (a, b) > (%s, %s) order by a, b limit %s",
        reason, *after, limit,
    )  # fmt: skip
    return [(a, b) for a, b in rows]


_LINKS = """
    (select a, b, null::uuid as person, null::uuid as agent, reason, evidence
     from cluster_links where a = any(%s) limit %s)
    union
    (select a, b, null, null, reason, evidence from cluster_links where b = any(%s) limit %s)
    union
    (select null, null, owner, id, 'owner', '' from agents where owner = any(%s) limit %s)
    union
    (select null, null, owner, id, 'owner', '' from agents
     where id = any(%s) and owner is not null limit %s)
    union
    (select mine.owner, theirs.owner, null, null, 'key', mine.seed::text
     from account_keys mine join account_keys theirs on theirs.seed = mine.seed and theirs.owner <> mine.owner
     where mine.owner = any(%s) limit %s)
    union
    (select mine.owner, theirs.owner, null, null, 'home', left(encode(mine.home, 'hex'), 16)
     from owner_homes mine join owner_homes theirs on theirs.home = mine.home and theirs.owner <> mine.owner
     where mine.owner = any(%s) limit %s)
    limit %s
"""
