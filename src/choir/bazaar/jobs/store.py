"""Jobs, attempts, their events and the node's absences in PostgreSQL.

A job's row is locked before anything of it changes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.bazaar.attempts.model import LIVE_ATTEMPT, Attempt, AttemptState
from choir.bazaar.events import STEPS
from choir.bazaar.jobs.model import Job, JobEvent, JobState, JobType, job_id
from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx
from choir.storage.outbox import ANNOUNCE_NEWS, event_wakeup

_JOB: LiteralString = (
    "id, buyer, actor, delegation, key, type, state, request, inputs, hidden, budget, hold, strategy, criteria,"
    " time_limit_s, created_us, expires_us, offer_us, cancelled_us, winner, price, receipt, closed_us,"
    " ready_us, qualifies, held_until_us, extras"
)
_ATTEMPT: LiteralString = (
    "id, job, n, provider, owner, state, base, per_unit, cap, ceiling, assigned_us, deadline_us, delivered_us,"
    " ended_us, artifact, claimed, result, trajectory, verdict, paid, reason, receipt, resumed_us, extras"
)
_JOB_CHANGES: LiteralString = (
    "state = %s, offer_us = %s, ready_us = %s, cancelled_us = %s, winner = %s, price = %s, receipt = %s, closed_us = %s"
    " where id = %s"
)
_ATTEMPT_CHANGES: LiteralString = (
    "state = %s, delivered_us = %s, ended_us = %s, artifact = %s, claimed = %s, result = %s, trajectory = %s,"
    " verdict = %s, paid = %s, reason = %s, receipt = %s, extras = %s where id = %s"
)
_STEPS: LiteralString = f"""
    steps as (
        select * from unnest(%s::uuid[], %s::text[], %s::text[], %s::jsonb[], %s::jsonb[], %s::jsonb[])
        with ordinality as step (id, what, actor, kept, told, audience, n)
    ), noted as (
        insert into job_events (job, n, at_us, what, actor, data)
        select %s, (select coalesce(max(n), 0) from job_events where job = %s) + n, %s, what, actor, kept from steps
    ), news as (
        select n, id, 'bazaar.job.' || what as type, %s::text as subject, %s::bigint as at_us, actor, told as data,
            array(select jsonb_array_elements_text(audience)) as audience
        from steps
    ), {ANNOUNCE_NEWS}"""  # noqa: S608 - a constant
_LIVE = [state.value for state in LIVE_ATTEMPT]


def insert_job(tx: Tx, job: Job, summary: str) -> bool:
    """Keep a new job and a line about it; False if its buyer has one by that key, also if it was sent this moment."""
    return bool(
        tx.run(
            f"with job as (insert into jobs ({_JOB}) values"  # noqa: S608 - names of columns
            " (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,"
            " %s)"
            " on conflict do nothing returning id, buyer)"  # of any kind: the same order also has the same hold
            " insert into job_summaries (job, buyer, summary) select id, buyer, %s from job",
            job.id, job.buyer, job.actor, job.delegation, job.key, job.type, job.state, job.request, Jsonb(job.inputs),
            job.hidden, job.budget, job.hold, Jsonb(job.strategy), Jsonb(job.criteria), job.time_limit_s,
            job.created_us, job.expires_us, job.offer_us, job.cancelled_us, job.winner, job.price,
            job.receipt, job.closed_us, job.ready_us, job.qualifies, job.held_until_us, job.extras, summary,
        )
    )  # fmt: skip


def summaries(tx: Tx, jobs: Sequence[UUID]) -> dict[UUID, str]:
    """What was ordered with these jobs, in a line each; nothing where the buyer was erased."""
    return dict(tx.rows("select job, summary from job_summaries where job = any(%s)", list(jobs)))


def erase_summaries(tx: Tx, buyer: str) -> int:
    return tx.run("delete from job_summaries where buyer = %s", buyer)


def ids_between(
    tx: Tx, first: UUID, last: UUID, *, bought_by: Collection[str], done_by: Collection[str], all_: bool, limit: int
) -> list[UUID]:
    """Ids of jobs in a range that these buy or were asked to do; or of all."""
    rows = tx.rows(
        "select j.id from jobs j where j.id between %s and %s and (%s or j.buyer = any(%s) or exists"
        " (select from job_attempts a where a.job = j.id and a.owner = any(%s))) order by j.id limit %s",
        first, last, all_, list(bought_by), list(done_by), limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def job(tx: Tx, id_: UUID, *, lock: bool = False) -> Job | None:
    row = tx.row(f"select {_JOB} from jobs where id = %s" + (" for update" if lock else ""), id_)  # noqa: S608
    return _job(row) if row else None


def lock_job_of(tx: Tx, attempt_: UUID, owners: Collection[str] | None) -> Job | None:
    """The job of an attempt, locked; nothing if the attempt is of none of these owners. None: whoever's it is."""
    row = tx.row(
        f"select {_JOB} from jobs where id = (select job from job_attempts where id = %s"  # noqa: S608
        " and (%s::text[] is null or owner = any(%s))) for update",
        attempt_, None if owners is None else list(owners), None if owners is None else list(owners),
    )  # fmt: skip
    return _job(row) if row else None


def job_of(tx: Tx, attempt_: UUID) -> Job | None:
    """The job of an attempt."""
    row = tx.row(f"select {_JOB} from jobs where id = (select job from job_attempts where id = %s)", attempt_)  # noqa: S608
    return _job(row) if row else None


def removed_at(tx: Tx, id_: UUID) -> int | None:
    """When the bytes of a job were removed."""
    found: int | None = tx.value("select removed_us from jobs where id = %s", id_)
    return found


def job_by_key(tx: Tx, buyer: str, key: str) -> Job | None:
    row = tx.row(f"select {_JOB} from jobs where buyer = %s and key = %s", buyer, key)  # noqa: S608
    return _job(row) if row else None


def jobs_of(tx: Tx, buyer: str, *, before: UUID | None, limit: int) -> list[Job]:
    """A buyer's jobs, newest first."""
    rows = tx.rows(
        f"select {_JOB} from jobs where buyer = %s and id < %s order by id desc limit %s",  # noqa: S608
        buyer, before or LAST_ID, limit,
    )  # fmt: skip
    return [_job(row) for row in rows]


def has_bought(tx: Tx, buyer: str, type_: JobType, artifact: str) -> bool:
    """Whether this buyer has paid for this artifact, as work of this type."""
    found = tx.rows(
        "select 1 from jobs join job_attempts on job_attempts.id = jobs.winner"
        " where jobs.buyer = %s and jobs.type = %s and job_attempts.artifact = %s limit 1",
        buyer,
        type_.value,
        artifact,
    )
    return bool(found)


def live_jobs(tx: Tx, buyer: str) -> int:
    return int(tx.value("select count(*) from jobs where buyer = %s and closed_us is null", buyer))


def save_job(tx: Tx, job: Job) -> None:
    """Write what can change about a job."""
    tx.run(f"update jobs set {_JOB_CHANGES}", *_job_changes(job))  # noqa: S608 - names of columns


def insert_attempt(tx: Tx, attempt: Attempt) -> None:
    tx.run(
        f"insert into job_attempts ({_ATTEMPT}) values"  # noqa: S608 - names of columns
        " (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        attempt.id, attempt.job, attempt.n, attempt.provider, attempt.owner, attempt.state, attempt.base,
        attempt.per_unit, attempt.cap, attempt.ceiling, attempt.assigned_us, attempt.deadline_us,
        attempt.delivered_us, attempt.ended_us, attempt.artifact, attempt.claimed, attempt.result,
        attempt.trajectory, attempt.verdict, attempt.paid, attempt.reason, attempt.receipt, attempt.resumed_us,
        attempt.extras,
    )  # fmt: skip


def save_attempt(tx: Tx, attempt: Attempt) -> None:
    """Write what can change about an attempt."""
    tx.run(f"update job_attempts set {_ATTEMPT_CHANGES}", *_attempt_changes(attempt))  # noqa: S608 - names of columns


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a job's life, for its history and for whom it concerns."""

    id: UUID  # of the event that tells of it
    what: str
    actor: str
    kept: dict[str, Any]
    told: dict[str, Any]
    audience: list[str]


def add_steps(tx: Tx, job_: UUID, at_us: int, steps: Sequence[Step]) -> None:
    """Note steps and announce them; the job's row is locked, so that numbers have no gaps."""
    _wake(tx, steps)
    tx.run(f"with {_STEPS}", *_steps(job_, at_us, steps))


def advance(tx: Tx, job: Job, attempt: Attempt | None, at_us: int, steps: Sequence[Step]) -> None:
    """Write what changed about a locked job and one of its attempts, note the steps and announce them: all at once."""
    _wake(tx, steps)
    saved = (*_job_changes(job), *_steps(job.id, at_us, steps))
    if attempt is None:
        tx.run(f"with job as (update jobs set {_JOB_CHANGES}), {_STEPS}", *saved)  # noqa: S608
        return
    tx.run(
        f"with attempt as (update job_attempts set {_ATTEMPT_CHANGES}),"  # noqa: S608 - names of columns
        f" job as (update jobs set {_JOB_CHANGES}), {_STEPS}",
        *_attempt_changes(attempt), *saved,
    )  # fmt: skip


def attempt(tx: Tx, id_: UUID) -> Attempt | None:
    row = tx.row(f"select {_ATTEMPT} from job_attempts where id = %s", id_)  # noqa: S608
    return _attempt(row) if row else None


def attempts(tx: Tx, job_: UUID) -> list[Attempt]:
    """All tries at a job, in order."""
    rows = tx.rows(f"select {_ATTEMPT} from job_attempts where job = %s order by n", job_)  # noqa: S608
    return [_attempt(row) for row in rows]


def attempts_made(tx: Tx, jobs: list[UUID]) -> dict[UUID, int]:
    """How many tries there were at each of these jobs, where there were any."""
    return dict(tx.rows("select job, count(*) from job_attempts where job = any(%s) group by job", jobs))


def live_attempts_of(tx: Tx, provider: UUID) -> list[Attempt]:
    """What a provider is expected to work on, or has handed in, oldest first."""
    rows = tx.rows(
        f"select {_ATTEMPT} from job_attempts where provider = %s and ended_us is null and state = any(%s) order by id",  # noqa: S608
        provider, _LIVE,
    )  # fmt: skip
    return [_attempt(row) for row in rows]


def attempts_of(tx: Tx, provider: UUID, *, before: UUID | None, limit: int) -> list[Attempt]:
    """A page of all that a provider was ever asked, newest first."""
    rows = tx.rows(
        f"select {_ATTEMPT} from job_attempts where provider = %s and id < %s"  # noqa: S608
        " order by id desc limit %s",
        provider, before or LAST_ID, limit,
    )  # fmt: skip
    return [_attempt(row) for row in rows]


def live_with_hold(tx: Tx, hold: UUID) -> UUID | None:
    """The job whose budget is in this hold, if it is not over."""
    found: UUID | None = tx.value(
        "select id from jobs where hold = %s and closed_us is null and qualifies is null", hold
    )
    return found


def to_offer(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Open jobs whose turn it is."""
    rows = tx.rows(
        "select id from jobs where state = 'open' and offer_us <= %s order by offer_us limit %s", now_us, limit
    )
    return [row[0] for row in rows]


def waiting(tx: Tx, type_: JobType, now_us: int, limit: int) -> list[tuple[int, UUID]]:
    """Open jobs of a type that could go to somebody now, with how long they wait for that; the longest first."""
    rows = tx.rows(
        "select ready_us, id from jobs where state = 'open' and type = %s and ready_us <= %s"
        " order by ready_us limit %s",
        type_, now_us, limit,
    )  # fmt: skip
    return [(row[0], row[1]) for row in rows]


def live_of(tx: Tx, buyer: str, limit: int) -> list[UUID]:
    """A buyer's jobs that are not over, in order of id."""
    rows = tx.rows("select id from jobs where buyer = %s and closed_us is null order by id limit %s", buyer, limit)
    return [row[0] for row in rows]


def at_work_of_owner(tx: Tx, owner: str) -> list[UUID]:
    """The jobs that an owner's provider is at work on."""
    rows = tx.rows(
        "select a.job from job_attempts a join providers p on p.id = a.provider"
        " where p.owner = %s and a.ended_us is null and a.state in ('assigned', 'running') order by a.job",
        owner,
    )
    return [row[0] for row in rows]


def to_look_at(tx: Tx, now_us: int, verify_us: int, limit: int) -> list[UUID]:
    """Jobs of which some time is over: their own, an attempt's, or that of a verification."""
    rows = tx.rows(
        "(select id from jobs where closed_us is null and expires_us <= %s order by expires_us limit %s)"
        " union (select job from job_attempts where state in ('assigned', 'running') and deadline_us <= %s"
        "  order by deadline_us limit %s)"
        " union (select job from job_attempts where state in ('delivered', 'verifying') and delivered_us <= %s"
        "  and coalesce(resumed_us, 0) <= %s order by delivered_us limit %s)",
        now_us, limit, now_us, limit, now_us - verify_us, now_us - verify_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def resume(tx: Tx, now_us: int) -> int:
    """Note at all live tries that the node was away until now; says how many there are."""
    return tx.run("update job_attempts set resumed_us = %s where ended_us is null and state = any(%s)", now_us, _LIVE)


def live_until(tx: Tx, until_us: int) -> int:
    """How many jobs that are not over are given up by then."""
    return int(tx.value("select count(*) from jobs where closed_us is null and expires_us <= %s", until_us))


def put_off(tx: Tx, since_us: int, by_us: int, spare_us: int) -> int:
    """Move what was to come after that time, of jobs that are not over; says how many these are.

    None is given up later than so much before its hold ends, unless it was to be from the beginning.
    """
    return tx.run(
        "update jobs set"
        " expires_us = case when expires_us <= first then expires_us"
        "  else least(greatest(expires_us + by, first), greatest(expires_us, held_until_us - %s)) end,"
        " offer_us = case when offer_us <= first then offer_us else greatest(offer_us + by, first) end,"
        " ready_us = case when ready_us <= first then ready_us else greatest(ready_us + by, first) end"
        " from (select %s::bigint as by, %s::bigint as first) moved where closed_us is null",
        spare_us, by_us, min(since_us, since_us + by_us),
    )  # fmt: skip


def turn_back(tx: Tx, since_us: int, by_us: int) -> int:
    """Move the ends of live tries so much earlier, as the clock was; says how many these are."""
    return tx.run(
        "update job_attempts set deadline_us = greatest(deadline_us - %s, %s)"
        " where ended_us is null and deadline_us > %s",
        by_us, since_us - by_us, since_us - by_us,
    )  # fmt: skip


def at_work_unheard(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Jobs whose provider is at work and was not heard from lately."""
    rows = tx.rows(
        "select a.job from job_attempts a join provider_market m on m.provider = a.provider"
        " where a.state in ('assigned', 'running') and (m.silent or m.alive_until_us <= %s) limit %s",
        now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def turn_of_next(tx: Tx, task: str, attempt_: Attempt, buyer: str) -> tuple[int, int]:
    """Of what else waits to be verified for this buyer or from this provider: how much, and when the last has its turn.

    `task` is what verifications are called on the list of tasks. How much: whichever of the two has more.
    """
    row = tx.row(
        "select greatest("
        " (select count(*) from jobs where buyer = %s and closed_us is null"
        "  and state in ('delivered', 'verifying') and id <> %s),"
        " (select count(*) from job_attempts where provider = %s and ended_us is null"
        "  and state in ('delivered', 'verifying') and id <> %s)),"
        " coalesce((select max(t.due_us + t.yields_us) from ("
        "  select a.id from jobs j join job_attempts a on a.job = j.id"
        "  where j.buyer = %s and j.closed_us is null and a.state in ('delivered', 'verifying')"
        "  union all select id from job_attempts where provider = %s and ended_us is null"
        "  and state in ('delivered', 'verifying')) own"
        "  join tasks t on t.name = %s and t.key = own.id::text and t.attempts = 0), 0)",
        buyer, attempt_.job, attempt_.provider, attempt_.id, buyer, attempt_.provider, task,
    )  # fmt: skip
    assert row is not None
    return int(row[0]), int(row[1])


def events(tx: Tx, job_: UUID) -> list[JobEvent]:
    """Every step of a job, oldest first."""
    rows = tx.rows("select n, at_us, what, actor, data from job_events where job = %s order by n", job_)
    return [JobEvent(*row) for row in rows]


# When the node was away. Times that are written down are moved when it is back; what is counted from a moment in the
# past, such as the time in which a verdict can be doubted, is longer by the absences since.


def note_absence(tx: Tx, since_us: int, until_us: int) -> bool:
    """Keep an absence; False if it was noted before."""
    return bool(
        tx.run("insert into absences (since_us, until_us) values (%s, %s) on conflict do nothing", since_us, until_us)
    )


def away_since(tx: Tx, at_us: int) -> int:
    """How long the node was away since then, in microseconds."""
    return int(
        tx.value(
            "select coalesce(sum(until_us - greatest(since_us, %s)), 0) from absences where until_us > %s",
            at_us, at_us,
        )
    )  # fmt: skip


def _job_changes(job: Job) -> tuple[Any, ...]:
    money = (job.winner, job.price, job.receipt)
    return (job.state, job.offer_us, job.ready_us, job.cancelled_us, *money, job.closed_us, job.id)


def _attempt_changes(item: Attempt) -> tuple[Any, ...]:
    handed = (item.artifact, item.claimed, item.result, item.trajectory)
    ended = (item.verdict, item.paid, item.reason, item.receipt, item.extras)
    return (item.state, item.delivered_us, item.ended_us, *handed, *ended, item.id)


def _wake(tx: Tx, steps: Sequence[Step]) -> None:
    for step in steps:
        tx.wake(event_wakeup(STEPS[step.what]))


def _steps(job_: UUID, at_us: int, steps: Sequence[Step]) -> tuple[Any, ...]:
    rows = (
        [step.id for step in steps],
        [step.what for step in steps],
        [step.actor for step in steps],
        [Jsonb(step.kept) for step in steps],
        [Jsonb(step.told) for step in steps],
        [Jsonb(step.audience) for step in steps],
    )
    return (*rows, job_, job_, at_us, job_id(job_), at_us)


def _job(row: Any) -> Job:
    values = list(row)
    values[5], values[6] = JobType(values[5]), JobState(values[6])
    return Job(*values)


def _attempt(row: Any) -> Attempt:
    values = list(row)
    values[5] = AttemptState(values[5])
    return Attempt(*values)
