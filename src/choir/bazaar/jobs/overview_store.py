"""Jobs by their state, for operators."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from choir.bazaar.jobs.model import JobState
from choir.storage.database import Tx

_LAST = UUID(int=2**128 - 1)


def ids_in(tx: Tx, state: JobState, *, before: UUID | None, limit: int) -> list[UUID]:
    """Jobs in a state, newest first."""
    rows = tx.rows(
        "select id from jobs where state = %s and id < %s order by id desc limit %s", state, before or _LAST, limit
    )
    return [row[0] for row in rows]


def counts(tx: Tx, states: Iterable[JobState], most: int) -> dict[JobState, int]:
    """How many jobs there are in each of these states, counted up to a number."""
    rows = tx.rows(
        "select s.state, (select count(*) from (select from jobs j where j.state = s.state limit %s) as found)"
        " from unnest(%s::text[]) as s (state)",
        most, list(states),
    )  # fmt: skip
    return {JobState(state): count for state, count in rows}
