"""Challenges and rulings in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.commons.challenges.model import Challenge, ChallengeRuling, ChallengeState, Ground
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx

_COLUMNS = (
    "id, publication, atom, ground, basis, statement, pointers, challenger, actor, stake, state, finding, reasoning,"
    " opened_us, decided_us"
)


def insert(tx: Tx, item: Challenge) -> bool:
    """Keep a challenge; False if this ground is taken."""
    return bool(
        tx.run(
            f"insert into atom_challenges ({_COLUMNS})"  # noqa: S608 - names of columns
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict do nothing",
            item.id, item.publication, item.atom, item.ground, item.basis, item.statement, Jsonb(list(item.pointers)),
            item.challenger, item.actor, item.stake, item.state, None, None, item.opened_us, None,
        )
    )  # fmt: skip


def save(tx: Tx, item: Challenge) -> None:
    tx.run(
        "update atom_challenges set state = %s, finding = %s, reasoning = %s, decided_us = %s where id = %s",
        item.state, None if item.finding is None else Jsonb(item.finding), item.reasoning, item.decided_us, item.id,
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Challenge | None:
    suffix = " for update" if lock else ""
    row = tx.row(f"select {_COLUMNS} from atom_challenges where id = %s{suffix}", id_)  # noqa: S608
    return None if row is None else _challenge(row)


def taken(tx: Tx, atom: int, ground: Ground, basis: str) -> Challenge | None:
    """What keeps an atom from being challenged on this ground and basis."""
    row = tx.row(
        f"select {_COLUMNS} from atom_challenges"  # noqa: S608
        " where atom = %s and ground = %s and basis = %s and state in ('open', 'under_review', 'lost')",
        atom, ground, basis,
    )  # fmt: skip
    return None if row is None else _challenge(row)


def undecided_of(tx: Tx, publication: UUID) -> list[Challenge]:
    """All open challenges to a publication, locked."""
    rows = tx.rows(
        f"select {_COLUMNS} from atom_challenges where publication = %s"  # noqa: S608
        " and state in ('open', 'under_review') order by id for update",
        publication,
    )
    return [_challenge(row) for row in rows]


def is_challenged(tx: Tx, article: UUID) -> bool:
    """Whether a challenge to any version of an article is open."""
    row = tx.row(
        "select from publications p join atom_challenges c on c.publication = p.id"
        " where p.article = %s and c.state in ('open', 'under_review') limit 1",
        article,
    )
    return row is not None


def challenged_among(tx: Tx, articles: Collection[UUID]) -> set[UUID]:
    """Those of these articles of which a version is challenged and that is not decided."""
    rows = tx.rows(
        "select distinct p.article from publications p join atom_challenges c on c.publication = p.id"
        " where p.article = any(%s) and c.state in ('open', 'under_review')",
        list(articles),
    )
    return {row[0] for row in rows}


def versions_that_lost(tx: Tx, article: UUID) -> set[UUID]:
    """Versions of an article against which a challenge was won."""
    rows = tx.rows(
        "select distinct p.id from publications p join atom_challenges c on c.publication = p.id"
        " where p.article = %s and c.state = 'won'",
        article,
    )
    return {row[0] for row in rows}


def count_open(tx: Tx, challenger: str) -> int:
    found: int = tx.value(
        "select count(*) from atom_challenges where challenger = %s and state in ('open', 'under_review')", challenger
    )
    return found


def page(
    tx: Tx, *, article: UUID | None, challenger: Sequence[str] | None, to_rule: bool, before: UUID | None, limit: int
) -> list[Challenge]:
    """Challenges to an article, by somebody, or that await a ruling; newest first."""
    rows = tx.rows(
        f"select {_COLUMNS} from atom_challenges where id < %s"  # noqa: S608
        " and (%s::uuid is null or publication in (select id from publications where article = %s))"
        " and (%s::text[] is null or challenger = any(%s)) and (not %s or state = 'under_review')"
        " order by id desc limit %s",
        before or LAST_ID, article, article, challenger, challenger, to_rule, limit,
    )  # fmt: skip
    return [_challenge(row) for row in rows]


def add_ruling(tx: Tx, challenge: UUID, ruling: ChallengeRuling, at_us: int) -> bool:
    """Keep an operator's ruling; False if that operator has ruled already."""
    return bool(
        tx.run(
            "insert into atom_challenge_rulings values (%s, %s, %s, %s, %s) on conflict do nothing",
            challenge, ruling.operator, ruling.upheld, ruling.reasoning, at_us,
        )
    )  # fmt: skip


def rulings(tx: Tx, challenge: UUID) -> list[ChallengeRuling]:
    rows = tx.rows(
        "select operator, upheld, reasoning from atom_challenge_rulings where challenge = %s order by at_us", challenge
    )
    return [ChallengeRuling(*row) for row in rows]


def forget(tx: Tx, owner: str) -> None:
    """The words of an erased challenger go; what was decided stays."""
    tx.run("update atom_challenges set statement = '' where challenger = %s", owner)


def _challenge(row: Sequence[Any]) -> Challenge:
    values = list(row)
    values[3], values[6], values[10] = Ground(values[3]), tuple(values[6]), ChallengeState(values[10])
    return Challenge(*values)
