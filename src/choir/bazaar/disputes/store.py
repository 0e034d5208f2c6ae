"""Disputes and rulings in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from choir.bazaar.disputes.model import Dispute, DisputeState, Ruling, Side, Trigger, Winner
from choir.storage.database import Tx

_COLUMNS = (
    "id, job, attempt, side, opener, trigger, statement, state, deposit, hold, opened_us, respond_by_us, response,"
    " verdict, winner, reasoning, refund, owed, resolved_us"
)


def insert(tx: Tx, dispute: Dispute) -> bool:
    """Keep a new dispute; False if that side has disputed the attempt before."""
    return bool(
        tx.run(
            f"insert into disputes ({_COLUMNS}) values"  # noqa: S608 - names of columns
            " (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " on conflict (attempt, side) do nothing",
            dispute.id, dispute.job, dispute.attempt, dispute.side, dispute.opener, dispute.trigger,
            dispute.statement, dispute.state, dispute.deposit, dispute.hold, dispute.opened_us,
            dispute.respond_by_us, dispute.response, dispute.verdict, dispute.winner, dispute.reasoning,
            dispute.refund, dispute.owed, dispute.resolved_us,
        )
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Dispute | None:
    row = tx.row(f"select {_COLUMNS} from disputes where id = %s" + (" for update" if lock else ""), id_)  # noqa: S608
    return _dispute(row) if row else None


def of_attempt(tx: Tx, attempt: UUID, side: Side) -> Dispute | None:
    row = tx.row(f"select {_COLUMNS} from disputes where attempt = %s and side = %s", attempt, side)  # noqa: S608
    return _dispute(row) if row else None


def of_job(tx: Tx, job: UUID) -> list[Dispute]:
    """All disputes about a job, oldest first."""
    rows = tx.rows(f"select {_COLUMNS} from disputes where job = %s order by id", job)  # noqa: S608
    return [_dispute(row) for row in rows]


def undecided_with_hold(tx: Tx, hold: UUID) -> UUID | None:
    """The dispute whose deposit is in this hold, if nothing is decided yet."""
    found: UUID | None = tx.value("select id from disputes where hold = %s and state <> 'resolved'", hold)
    return found


def ids_between(
    tx: Tx, first: UUID, last: UUID, *, bought_by: Collection[str], done_by: Collection[str], all_: bool, limit: int
) -> list[UUID]:
    """Ids of disputes in a range about what these bought, or about their own attempts; or of all."""
    rows = tx.rows(
        "select d.id from disputes d join jobs j on j.id = d.job join job_attempts a on a.id = d.attempt"
        " where d.id between %s and %s and (%s or j.buyer = any(%s) or a.owner = any(%s)) order by d.id limit %s",
        first, last, all_, list(bought_by), list(done_by), limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def undecided_about(tx: Tx, attempt: UUID) -> bool:
    """Whether somebody disputes an attempt, and nothing is decided yet."""
    return tx.row("select from disputes where attempt = %s and state <> 'resolved'", attempt) is not None


def undecided_about_job(tx: Tx, job: UUID) -> bool:
    """The same for any attempt at a job."""
    return tx.row("select from disputes where job = %s and state <> 'resolved'", job) is not None


def under_review(tx: Tx, after: UUID, limit: int) -> list[Dispute]:
    """Disputes that wait for a ruling, oldest first."""
    rows = tx.rows(
        f"select {_COLUMNS} from disputes where state = 'under_review' and id > %s order by id limit %s",  # noqa: S608
        after, limit,
    )  # fmt: skip
    return [_dispute(row) for row in rows]


def save(tx: Tx, dispute: Dispute) -> None:
    tx.run(
        "update disputes set state = %s, response = %s, verdict = %s, winner = %s, reasoning = %s, refund = %s,"
        " owed = %s, resolved_us = %s where id = %s",
        dispute.state, dispute.response, dispute.verdict, dispute.winner, dispute.reasoning, dispute.refund,
        dispute.owed, dispute.resolved_us, dispute.id,
    )  # fmt: skip


def unanswered(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Disputes under review whose other side has not answered in time."""
    rows = tx.rows(
        "select id from disputes where state = 'under_review' and response is null and respond_by_us <= %s"
        " order by respond_by_us limit %s",
        now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def put_off(tx: Tx, since_us: int, by_us: int) -> int:
    """Give everybody so much more time whose time to answer was not over then; says how many there are."""
    first_us = min(since_us, since_us + by_us)
    return tx.run(
        "update disputes set respond_by_us = greatest(respond_by_us + %s, %s)"
        " where state <> 'resolved' and response is null and respond_by_us > %s",
        by_us, first_us, first_us,
    )  # fmt: skip


def add_ruling(tx: Tx, dispute: UUID, ruling: Ruling, at_us: int) -> bool:
    """Keep an operator's ruling; False if that operator has ruled already."""
    return bool(
        tx.run(
            "insert into dispute_rulings (dispute, operator, winner, reasoning, at_us) values (%s, %s, %s, %s, %s)"
            " on conflict do nothing",
            dispute, ruling.operator, ruling.winner, ruling.reasoning, at_us,
        )
    )  # fmt: skip


def rulings(tx: Tx, dispute: UUID) -> list[Ruling]:
    rows = tx.rows("select operator, winner, reasoning from dispute_rulings where dispute = %s order by at_us", dispute)
    return [Ruling(operator, Winner(winner), reasoning) for operator, winner, reasoning in rows]


def _dispute(row: Any) -> Dispute:
    values = list(row)
    values[3], values[5], values[7] = Side(values[3]), Trigger(values[5]), DisputeState(values[7])
    values[14] = None if values[14] is None else Winner(values[14])
    return Dispute(*values)


def returned(tx: Tx, attempt: UUID) -> int:
    """What decided disputes about an attempt have given back to its buyer."""
    return int(
        tx.value(
            "select coalesce(sum(refund), 0) from disputes where attempt = %s and state = 'resolved'"
            " and (winner = 'buyer' or (winner = 'split' and side = 'buyer'))",
            attempt,
        )
    )
