"""Second reviews in PostgreSQL. Their rows change only while the job that they belong to is locked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString
from uuid import UUID

from choir.bazaar.seconds.model import SecondOutcome, SecondReviewRow, SecondState
from choir.storage.database import Tx

_ROW: LiteralString = (
    "job, n, hold, amount, state, attempt, review, verdict, outcome, findings, blocking, agrees, began_us, ended_us"
)


def insert(tx: Tx, job: UUID, made: Sequence[tuple[UUID, int]]) -> None:
    """Money was set aside for so many."""
    tx.run(
        "insert into second_reviews (job, n, hold, amount, state) select %s, n, hold, amount, 'held'"
        " from unnest(%s::uuid[], %s::bigint[]) with ordinality as m (hold, amount, n)",
        job, [hold for hold, _ in made], [amount for _, amount in made],
    )  # fmt: skip


def next_held(tx: Tx, job: UUID) -> SecondReviewRow | None:
    """The next that money is set aside for."""
    return _one(tx, "where job = %s and state = 'held' order by n limit 1 for update", job)


def of_attempt(tx: Tx, attempt: UUID) -> SecondReviewRow | None:
    return _one(tx, "where attempt = %s", attempt)


def of_review(tx: Tx, review: UUID) -> SecondReviewRow | None:
    """What a review job is the second review of."""
    return _one(tx, "where review = %s", review)


def of_job(tx: Tx, job: UUID) -> list[SecondReviewRow]:
    rows = tx.rows(f"select {_ROW} from second_reviews where job = %s order by n", job)  # noqa: S608
    return [_read(row) for row in rows]


def save(tx: Tx, row: SecondReviewRow) -> None:
    tx.run(
        "update second_reviews set state = %s, attempt = %s, review = %s, verdict = %s, outcome = %s, findings = %s,"
        " blocking = %s, agrees = %s, began_us = %s, ended_us = %s where job = %s and n = %s",
        row.state, row.attempt, row.review, row.verdict, row.outcome, row.findings, row.blocking, row.agrees,
        row.began_us, row.ended_us, row.job, row.n,
    )  # fmt: skip


def release_held(tx: Tx, job: UUID, at_us: int) -> list[UUID]:
    """Those of a job that is over are not needed; says what holds their money."""
    rows = tx.rows(
        "update second_reviews set state = 'released', ended_us = %s where job = %s and state = 'held' returning hold",
        at_us, job,
    )  # fmt: skip
    return [row[0] for row in rows]


def over(tx: Tx, limit: int) -> list[UUID]:
    """Jobs with a second review whose own job is over."""
    rows = tx.rows(
        "select s.job from second_reviews s join jobs j on j.id = s.review"
        " where s.state = 'waiting' and j.closed_us is not null order by s.began_us limit %s",
        limit,
    )
    return [row[0] for row in rows]


def waiting(tx: Tx, job: UUID) -> list[SecondReviewRow]:
    """Those of a job whose review is over and not looked at yet."""
    rows = tx.rows(
        f"select {_ROW} from second_reviews s where job = %s and state = 'waiting'"  # noqa: S608
        " and exists (select from jobs j where j.id = s.review and j.closed_us is not null) order by n",
        job,
    )
    return [_read(row) for row in rows]


def with_hold(tx: Tx, hold: UUID) -> UUID | None:
    """The job whose second review is paid from this hold, while that may be."""
    found: UUID | None = tx.value(
        "select job from second_reviews where hold = %s and state in ('held', 'waiting')", hold
    )
    return found


def _one(tx: Tx, where: LiteralString, *params: Any) -> SecondReviewRow | None:
    row = tx.row(f"select {_ROW} from second_reviews " + where, *params)  # noqa: S608
    return _read(row) if row else None


def _read(row: Any) -> SecondReviewRow:
    values = list(row)
    values[4] = SecondState(values[4])
    values[8] = None if values[8] is None else SecondOutcome(values[8])
    return SecondReviewRow(*values)
