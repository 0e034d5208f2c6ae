"""What is public, and the hall's figures, in PostgreSQL.

A side counts as public only while its owner is not erased, whatever is written meanwhile: an erased buyer's job has no
summary, and an erased provider has no name.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from choir.bazaar.disputes.model import Side
from choir.bazaar.hall.model import Figure, Place, Totals
from choir.bazaar.jobs.model import JobState, JobType
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx


def share(tx: Tx, job: UUID, side: Side, owner: str, since_us: int) -> None:
    tx.run(
        "insert into job_sharing (job, side, owner, since_us) values (%s, %s, %s, %s) on conflict do nothing",
        job, side, owner, since_us,
    )  # fmt: skip


def unshare(tx: Tx, job: UUID, side: Side, owners: Collection[str]) -> None:
    tx.run("delete from job_sharing where job = %s and side = %s and owner = any(%s)", job, side, list(owners))


def forget(tx: Tx, owner: str) -> None:
    tx.run("delete from job_sharing where owner = %s", owner)


def shared_by(tx: Tx, job: UUID) -> set[tuple[Side, str]]:
    """Who made which side of a job public."""
    rows = tx.rows("select side, owner from job_sharing where job = %s", job)
    return {(Side(row[0]), row[1]) for row in rows}


def public_summary(tx: Tx, job: UUID) -> str | None:
    """What was ordered, in a line, if the job is public."""
    found: str | None = tx.value(
        "select s.summary from job_sharing p join job_summaries s on s.job = p.job"
        " where p.job = %s and p.side = 'buyer'",
        job,
    )
    return found


def sharing_providers(tx: Tx, job: UUID) -> set[str]:
    """The owners of providers who made their side public."""
    rows = tx.rows(
        "select s.owner from job_sharing s join providers p on p.owner = s.owner"
        " where s.job = %s and s.side = 'provider' and p.name is not null",
        job,
    )
    return {row[0] for row in rows}


_FIGURE = "j.type, j.state, j.price, j.created_us, j.closed_us, s.job, s.summary"


def figures(tx: Tx, place: Place, limit: int) -> list[Figure]:
    """All jobs but qualifications, newest first. The node's own reviews are among them, like any other."""
    rows = tx.rows(
        f"select {_FIGURE} from jobs j left join job_sharing p on p.job = j.id and p.side = 'buyer'"  # noqa: S608
        " left join job_summaries s on s.job = p.job"
        " where j.qualifies is null and j.created_us <= %s order by j.created_us desc, j.id desc offset %s limit %s",
        place.at_us, place.skipped, limit,
    )  # fmt: skip
    return [_figure(row) for row in rows]


def public_jobs(tx: Tx, before: UUID | None, limit: int) -> list[Figure]:
    """Public jobs, newest first."""
    rows = tx.rows(
        f"select {_FIGURE} from job_sharing p join jobs j on j.id = p.job join job_summaries s on s.job = p.job"  # noqa: S608
        " where p.side = 'buyer' and p.job < %s order by p.job desc limit %s",
        before or LAST_ID, limit,
    )  # fmt: skip
    return [_figure(row) for row in rows]


def _figure(row: tuple[object, ...]) -> Figure:
    return Figure(JobType(row[0]), JobState(row[1]), *row[2:])  # type: ignore[arg-type]


def totals(tx: Tx, since_day: int) -> Totals:
    """The sums from a day on: of days that are over as they were summed, of later ones as they are."""
    row = tx.row(
        "select coalesce(sum(judged), 0), coalesce(sum(passed), 0), coalesce(sum(earned), 0) from ("
        " select judged, passed, earned from market_days where day >= %s"
        " union all select jobs, passed, earned from provider_earnings"
        " where day >= %s and day > (select coalesce(max(day), -1) from market_days)) lines",
        since_day, since_day,
    )  # fmt: skip
    assert row is not None
    return Totals(*(int(item) for item in row))


def close_days(tx: Tx, before_day: int) -> int:
    """Sum the days that are over and not summed yet; says how many."""
    return tx.run(
        "insert into market_days (day, judged, passed, earned)"
        " select day, sum(jobs), sum(passed), sum(earned) from provider_earnings"
        " where day > (select coalesce(max(day), -1) from market_days) and day < %s group by day"
        " on conflict do nothing",
        before_day,
    )
