"""A job as its page shows it: to a party what `/v1` lets that party see, to everybody else what was made public.

Guarantees: whatever is shown was asked of `JobAccess` or of `Hall`, which decide; strangers' texts are made harmless
and cut; what is read for one page is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, attempt_id
from choir.bazaar.contracts import RunOutput, StructuredReview
from choir.bazaar.disputes import rules as dispute_rules
from choir.bazaar.disputes.model import Dispute, NotDisputable, Ruling, Side, Trigger, dispute_id
from choir.bazaar.hall.model import Sides
from choir.bazaar.jobs.model import Job, JobState, JobType, UnknownJob, job_id
from choir.bazaar.jobs.reasons import in_words
from choir.bazaar.jobs.summaries import command_line
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.providers.model import provider_id
from choir.bazaar.settlement import pricing
from choir.doors.hall import texts, words
from choir.doors.mesh.proof import SIGNS, Sureness
from choir.doors.web.names import names
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotAllowed, NotFound
from choir.identity.model import Principal
from choir.node import Node
from choir.storage.database import Tx

_ARTIFACT_BYTES_MAX = 4_000_000  # of what is read for a page; all of it can be downloaded
_SIGNS_MAX = 50
_LINES = {False: 300, True: 5_000}
_FACT_CHARS_MAX = 4_000
_STATES_OVER = frozenset({JobState.CLOSED, JobState.EXPIRED, JobState.CANCELLED})
_NOT_SHOWN = frozenset({"max_cost_msat", "idempotency_key", "hidden", "diff", "repo_url", "head_commit", "evidence"})


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    kind: str  # done, now, failed, or nothing: still to come


@dataclass(frozen=True, slots=True)
class CheckLine:
    name: str
    outcome: str
    badge: str
    why: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What was delivered, as its type has it; what does not fit a page can only be downloaded."""

    diff: texts.DiffView | None = None
    run: RunOutput | None = None
    stdout: texts.Listing | None = None
    stderr: texts.Listing | None = None
    review: StructuredReview | None = None
    index: bool = False  # it has a page of its own
    text: texts.Listing | None = None

    @property
    def more(self) -> bool:
        return any(part is not None and part.more for part in (self.diff, self.stdout, self.stderr, self.text))


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt, with its verdict and its money."""

    id: str
    attempt: Attempt
    provider: str
    provider_id: str | None  # None: it was erased, and has no page
    state: str
    badge: str
    why: str
    took: str
    checks: tuple[CheckLine, ...]
    passed: int
    sureness: tuple[tuple[str, str], ...]  # how sure the verdict is, by name; nothing of old ones
    signs: tuple[str, ...]
    shares: Mapping[str, int]
    result: Result | None
    files: Mapping[str, str]  # what can be downloaded, by its name
    disputable: bool
    deposit: int


@dataclass(frozen=True, slots=True)
class DisputeView:
    id: str
    dispute: Dispute
    trigger: str
    statement: str
    response: str
    reasoning: str
    rulings: tuple[tuple[str, str], ...]
    may_answer: bool


@dataclass(frozen=True, slots=True)
class JobView:
    """All that the page shows."""

    id: str
    job: Job
    type: str
    state: str
    badge: str
    title: str
    buyer: str
    facts: list[tuple[str, str]] | None  # None: the order is closed to this reader
    stages: list[Stage]
    took: str
    held: int | None
    attempts: list[AttemptView]
    disputes: list[DisputeView]
    sides: Sides  # the reader's own
    public: bool  # the reader has no part in it
    live: bool

    @property
    def cancellable(self) -> bool:
        return Side.BUYER in self.sides and self.job.is_live and self.job.cancelled_us is None


def job_view(node: Node, tx: Tx, who: Principal | None, id_: UUID, *, more: bool) -> JobView:
    """A job for whoever looks."""
    if who is not None:
        with suppress(UnknownJob):
            return _Party(node, tx, who, more=more).view(id_)
    return _Everybody(node, tx, more=more).view(id_)


class _Reader:
    """What both kinds of readers have in common."""

    def __init__(self, node: Node, tx: Tx, *, more: bool) -> None:
        self.node = node
        self.tx = tx
        self.more = more

    def attempt(
        self, job: Job, item: Attempt, side: Side | None, reads: Mapping[str, Callable[[], Any]]
    ) -> AttemptView:
        """`reads` are the ways to its parts, each of which may be refused."""
        verdict, evidence = _allowed(reads["verdict"], (None, None, {}))[1:]
        receipt = _allowed(reads["receipt"], None)
        artifact = _allowed(reads["artifact"], None)
        state, badge = words.ATTEMPTS[item.state]
        provider = self.node.bazaar.providers.get(self.tx, item.provider)
        shares = {} if receipt is None else self.node.objects.get_atom(self.tx, receipt).get("shares", {})
        checks = tuple(_check(each, evidence) for each in (verdict or {}).get("checks", ()))
        sure = Sureness.of(verdict)
        side_can = side is not None and self._disputable(job, item, side)
        return AttemptView(
            id=attempt_id(item.id),
            attempt=item,
            provider=texts.visible(provider.name or "a provider that was erased", 60),
            provider_id=provider_id(item.provider) if provider.name else None,
            state=state,
            badge=badge,
            why=texts.visible(in_words(item.reason)) if item.reason else "",
            took=words.took(item.assigned_us, item.delivered_us),
            checks=checks,
            passed=sum(each.badge == "badge-good" for each in checks),
            sureness=tuple((name.capitalize(), texts.visible(told)) for name, told in sure.told() if name != SIGNS),
            signs=tuple(texts.visible(sign, 200) for sign in sure.signs[:_SIGNS_MAX]),
            shares={name: int(units) for name, units in shares.items() if int(units)},
            result=None if artifact is None else self._result(job.type, artifact),
            files=_files(item, artifact, receipt, _allowed(reads["trajectory"], None), everybody=side is None),
            disputable=side_can,
            deposit=self._deposit(item, verdict) if side_can else 0,
        )

    def _result(self, type_: JobType, name: ObjectHash) -> Result:
        policy, lines = self.node.policy.of(VerificationPolicy), _LINES[self.more]
        stat, data = self.node.objects.part(self.tx, name, 0, _ARTIFACT_BYTES_MAX)
        whole = stat.size <= len(data)
        if type_ is JobType.PATCH_GEN:
            return Result(diff=texts.diff_view(data, lines, whole=whole))
        if type_ is JobType.REPO_INDEX:
            return Result(index=True)
        with suppress(Invalid):
            if type_ is JobType.SANDBOX_RUN and whole:
                run = RunOutput.from_bytes(data, policy)
                out, err = texts.listing(run.stdout, lines), texts.listing(run.stderr, lines)
                return Result(run=run, stdout=out, stderr=err)
            if type_ is JobType.CODE_REVIEW and whole:
                return Result(review=StructuredReview.from_bytes(data, policy))
        return Result(text=texts.listing(data, lines))

    def _disputable(self, job: Job, item: Attempt, side: Side) -> bool:
        policy, now_us = self.node.policy.of(BazaarPolicy), self.node.clock.now_us()
        try:
            dispute_rules.check_open(job, item, side, Trigger.SECURITY, now_us, policy)
        except NotDisputable:
            return False
        return True

    def _deposit(self, item: Attempt, verdict: Mapping[str, Any] | None) -> int:
        units = int((verdict or {}).get("units_milli", 0))
        price = pricing.price(pricing.Terms(item.base, item.per_unit, item.cap), units, item.ceiling)
        return pricing.deposit(price, self.node.policy.of(BazaarPolicy))

    def base(self, job: Job, summary: str | None) -> dict[str, Any]:
        state, badge = words.STATES[job.state]
        buyer = names(self.node, self.tx, [job.buyer])[job.buyer].text if job.buyer else ""
        return {
            "id": job_id(job.id),
            "job": job,
            "type": words.TYPES[job.type],
            "state": state,
            "badge": badge,
            "title": texts.visible(summary or words.TYPES[job.type], 200),
            "buyer": buyer,
            "stages": stages(job),
            "took": words.took(job.created_us, job.closed_us),
        }


class _Party(_Reader):
    """A buyer, a provider or an operator, as `JobAccess` has it."""

    def __init__(self, node: Node, tx: Tx, who: Principal, *, more: bool) -> None:
        super().__init__(node, tx, more=more)
        self.who = who

    def view(self, id_: UUID) -> JobView:
        node, tx, who = self.node, self.tx, self.who
        seen = node.bazaar.access.job(tx, who, id_)
        request = _allowed(lambda: node.objects.get_atom(tx, node.bazaar.access.request(tx, who, id_)), None)
        sides: Sides = _allowed(lambda: node.bazaar.hall.sides(tx, who, id_), {})
        disputes = node.bazaar.disputes.of_job(tx, who, id_)
        side = Side.BUYER if Side.BUYER in sides else Side.PROVIDER
        had = {item.attempt for item in disputes if item.side is side}
        attempts = [self._attempt(seen.job, item, side, disputed=item.id in had) for item in seen.attempts]
        return JobView(
            **self.base(seen.job, seen.summary),
            facts=None if request is None else facts(request),
            held=node.bazaar.jobs.held(tx, seen.job) if seen.whole else None,
            attempts=attempts,
            disputes=[
                _dispute(item, node.bazaar.disputes.rulings(tx, item), side if sides else None) for item in disputes
            ],
            sides=sides,
            public=False,
            live=seen.job.closed_us is None or seen.job.state is JobState.DISPUTED,
        )

    def _attempt(self, job: Job, item: Attempt, side: Side, *, disputed: bool) -> AttemptView:
        tx, who, access = self.tx, self.who, self.node.bazaar.access
        reads: dict[str, Callable[[], Any]] = {
            "verdict": lambda: access.verdict(tx, who, item.id),
            "receipt": lambda: access.receipt(tx, who, item.id),
            "artifact": lambda: access.artifact(tx, who, item.id),
            "trajectory": lambda: access.trajectory(tx, who, item.id),
        }
        shown = self.attempt(job, item, side, reads)
        return replace(shown, disputable=shown.disputable and not disputed)


class _Everybody(_Reader):
    """Whoever has no part in a job, as `Hall` has it."""

    def view(self, id_: UUID) -> JobView:
        hall, tx = self.node.bazaar.hall, self.tx
        seen = hall.job(tx, id_)
        return JobView(
            **self.base(seen.job, seen.summary),
            facts=facts(hall.request(tx, id_)),
            held=None,
            attempts=[self._attempt(seen.job, item) for item in seen.attempts],
            disputes=[],
            sides={},
            public=True,
            live=seen.job.closed_us is None,
        )

    def _attempt(self, job: Job, item: Attempt) -> AttemptView:
        hall, tx = self.node.bazaar.hall, self.tx
        reads: dict[str, Callable[[], Any]] = {
            "verdict": lambda: hall.verdict(tx, item.id),
            "receipt": lambda: hall.receipt(tx, item.id),
            "artifact": lambda: item.artifact,
            "trajectory": lambda: item.trajectory,
        }
        return self.attempt(job, item, None, reads)


def _allowed(read: Callable[[], Any], otherwise: Any) -> Any:
    """What may be read, or something else where it may not, or is not there yet."""
    try:
        return read()
    except (NotAllowed, NotFound):
        return otherwise


def stages(job: Job) -> list[Stage]:
    """Where a job is on its way from the order to the money."""
    steps = ("Order", "Provider", "Work", "Checks", "Payment")
    at = {
        JobState.OPEN: 1,
        JobState.ASSIGNED: 2,
        JobState.RUNNING: 2,
        JobState.DELIVERED: 3,
        JobState.VERIFYING: 3,
    }.get(job.state, len(steps))
    if job.state in _STATES_OVER:
        return [Stage(steps[0], "done"), Stage(words.STATES[job.state][0], "failed")]
    shown = [Stage(name, "done" if n < at else "now" if n == at else "") for n, name in enumerate(steps)]
    if job.state in (JobState.DISPUTED, JobState.RESOLVED):
        shown.append(Stage(words.STATES[job.state][0], "now" if job.state is JobState.DISPUTED else "done"))
    return shown


def facts(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """An order in words: its fields, each cut."""
    known = [name for name in words.FIELDS if name in request]
    others = sorted(set(request) - set(known) - _NOT_SHOWN)
    shown = [(words.FIELDS.get(name, name), _told(name, request[name])) for name in [*known, *others]]
    return [(label, told) for label, told in shown if told]


def _told(name: str, value: Any) -> str:
    if name == "argv":
        told = command_line(value)
    elif name == "mutation_floor_bps":
        told = f"{value / 100:g} %" if value else ""
    elif isinstance(value, bool):
        told = "yes" if value else ""
    elif isinstance(value, list | tuple):
        told = ", ".join(item.get("command", "") if isinstance(item, dict) else str(item) for item in value)
    elif isinstance(value, dict):
        told = ", ".join(f"{key}={item}" for key, item in value.items())
    else:
        told = "" if value is None else str(value)
    return texts.paragraph(told, chars_max=_FACT_CHARS_MAX)


def _check(check: Mapping[str, Any], evidence: Mapping[str, Any]) -> CheckLine:
    left_out = evidence.get(check.get("evidence", ""), {}).get("rerun") is False
    outcome, badge = ("Passed", "badge-good") if check["passed"] else ("Failed", "badge-bad")
    why = check.get("details", "") or in_words(check.get("reason", ""))
    return CheckLine(
        texts.visible(str(check["name"]), 80),
        "Left out" if left_out else outcome,
        "badge-mind" if left_out else badge,
        texts.visible(str(why)),
        check.get("hidden", False) is True,
    )


def _files(
    item: Attempt, artifact: ObjectHash | None, receipt: ObjectHash | None, trajectory: Any, *, everybody: bool
) -> dict[str, str]:
    own = f"/v1/{'hall/' if everybody else ''}attempts/{attempt_id(item.id)}"
    whole = f"/v1/hall/jobs/{job_id(item.job)}/artifact" if everybody else f"{own}/artifact"
    found = {"artifact": (artifact, whole), "receipt": (receipt, f"{own}/receipt/file")}
    found["trajectory"] = (trajectory, f"{own}/trajectory")
    return {name: href for name, (there, href) in found.items() if there is not None}


def _dispute(item: Dispute, rulings: list[Ruling], side: Side | None) -> DisputeView:
    return DisputeView(
        id=dispute_id(item.id),
        dispute=item,
        trigger=words.TRIGGERS[item.trigger],
        statement=texts.paragraph(item.statement),
        response=texts.paragraph(item.response or ""),
        reasoning=texts.paragraph(item.reasoning or ""),
        rulings=tuple((each.winner.value, texts.paragraph(each.reasoning)) for each in rulings),
        may_answer=side is not None and item.side is not side and item.response is None and item.winner is None,
    )
