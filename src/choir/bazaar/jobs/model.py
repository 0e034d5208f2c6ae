"""Jobs: what kinds of work are sold, which states a job has, and what a verdict says.

A buyer orders work with a budget that is held; a provider delivers an artifact; the node verifies it in a
sandbox that the provider never touched; only then money moves. Every transition is an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Gone, Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class JobType(StrEnum):
    """What can be ordered."""

    PATCH_GEN = "patch_gen"
    CODE_REVIEW = "code_review"
    SANDBOX_RUN = "sandbox_run"
    TEXT_GEN = "text_gen"
    REPO_INDEX = "repo_index"

    @property
    def word(self) -> str:
        """What people call it; programs and JSON use its value."""
        return _WORDS[self]

    @classmethod
    def named(cls, text: str) -> JobType | None:
        """The type that somebody typed, by either name."""
        word = text.strip().lower().replace("-", "_")
        return next((kind for kind in cls if word in (kind.value, kind.word)), None)


_WORDS = {
    JobType.SANDBOX_RUN: "run",
    JobType.CODE_REVIEW: "review",
    JobType.PATCH_GEN: "patch",
    JobType.TEXT_GEN: "text",
    JobType.REPO_INDEX: "index",
}


class Unit(StrEnum):
    """What a price counts besides its base. Units are measured by the verifier or fixed at assignment."""

    FILE = "file"
    THOUSAND_TOKENS = "thousand_tokens"
    CPU_SECOND = "cpu_second"


UNITS = {
    JobType.PATCH_GEN: Unit.FILE,
    JobType.CODE_REVIEW: Unit.FILE,
    JobType.SANDBOX_RUN: Unit.CPU_SECOND,
    JobType.TEXT_GEN: Unit.THOUSAND_TOKENS,
    JobType.REPO_INDEX: Unit.THOUSAND_TOKENS,
}


class Visibility(StrEnum):
    """Who decides by a check: failing a hidden one alone costs the buyer a fee."""

    VISIBLE = "visible"
    HIDDEN = "hidden"


class Level(StrEnum):
    """How sure a verdict is. Each level has what those below it have."""

    V1 = "V1"  # an exit code, which tested code can force
    V2 = "V2"  # a report of exactly the buyer's tests, controlled as far as they can be
    V3 = "V3"  # hidden tests, controlled
    V4 = "V4"  # outside checks that only the verifier knew, in more than one setting


class Strength(StrEnum):
    """How a test is held from outside, the strongest first."""

    OUTSIDE = "outside"  # it reports what it observed; what is expected never enters the tested process
    BLIND = "blind"  # what it expects is replaced by a plausible other value, and it must notice
    CONTRADICTION = "contradiction"  # a contradiction is added: shows only that failures are reported
    NONE = "none"  # not controlled


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `reason` is a stable code such as "patch.does_not_apply"; empty if passed."""

    name: str
    passed: bool
    reason: str = ""
    details: str = ""  # a sentence for people; never a piece of the artifact or of its output
    evidence: ObjectHash | None = None  # of a JSON atom with what was seen
    visibility: Visibility = Visibility.VISIBLE


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verification found. Anyone who may read the inputs can compute it again."""

    passed: bool
    checks: tuple[Check, ...]
    units_milli: int  # measured by us, in thousandths of the job type's unit
    tier: str  # the sandbox it was checked in
    evidence: tuple[dict[str, Any], ...] = ()  # the atoms behind the checks' hashes
    level: Level | None = None  # of a patch that passed: how sure the verdict is
    strengths: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # "visible", "hidden" -> strength -> tests
    signs: tuple[str, ...] = ()  # what a reader of the patch may want to look at; never a reason
    lines_added: int = 0
    lines_deleted: int = 0
    mutants: tuple[int, int] | None = None  # how many the tests noticed, of how many

    @property
    def visible_passed(self) -> bool:
        return all(check.passed for check in self.checks if check.visibility is Visibility.VISIBLE)

    @property
    def reason(self) -> str:
        """Why it failed: the first failed check's code."""
        return next((check.reason for check in self.checks if not check.passed), "")

    def sureness(self) -> dict[str, Any]:
        """How sure it is, and what a reader may want to know, as its atom says it; what is not known is left out."""
        shown: dict[str, Any] = {} if self.level is None else {"level": self.level.value}
        if self.strengths:
            shown["strengths"] = {side: dict(counts) for side, counts in self.strengths.items()}
        if self.signs:
            shown["signs"] = list(self.signs)
        if self.lines_added or self.lines_deleted:
            shown["lines"] = {"added": self.lines_added, "deleted": self.lines_deleted}
        if self.mutants is not None:
            shown["mutants"] = {"noticed": self.mutants[0], "made": self.mutants[1]}
        return shown


class JobState(StrEnum):
    """Where a job is. The first five are live: their money is held."""

    OPEN = "open"  # nobody works on it
    ASSIGNED = "assigned"
    RUNNING = "running"
    DELIVERED = "delivered"
    VERIFYING = "verifying"
    PAID = "paid"
    CLOSED = "closed"  # every attempt failed
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DISPUTED = "disputed"
    RESOLVED = "resolved"


REPOSITORY, DIFF = "repository", "diff"  # the inputs of a job that its provider gets
PREVIOUS = "previous"  # one more: an index of an earlier commit, which the node puts in by its hash
HIDDEN = "hidden"  # hidden checks, or the defects planted in a diff: for the verifier alone

SECOND = "second:"  # how the keys of second reviews begin
SOURCE = "system:bazaar"  # the node's own part in all this


# Wake-ups: a provider can take a job now; a provider has something to qualify for.
FREE, QUALIFY = "bazaar.free", "bazaar.qualify"


LIVE_JOB = frozenset({JobState.OPEN, JobState.ASSIGNED, JobState.RUNNING, JobState.DELIVERED, JobState.VERIFYING})


@dataclass(frozen=True, slots=True)
class Job:
    """An order. Amounts are milli-satoshi."""

    id: UUID
    buyer: str  # an owner of accounts: "person:…" or "agent:…"; or the node itself
    actor: str  # who asked: the source on its entries
    delegation: UUID | None
    key: str
    type: JobType
    state: JobState
    request: ObjectHash
    inputs: dict[str, ObjectHash]
    hidden: ObjectHash | None  # what the hidden checks were committed to
    budget: int
    hold: UUID  # a qualification has none: its own id stands here
    strategy: dict[str, Any]
    criteria: dict[str, Any]
    time_limit_s: int
    created_us: int
    expires_us: int  # when it is given up, if nothing is delivered
    offer_us: int  # while it is open: when it is offered next, whoever is free
    cancelled_us: int | None = None
    winner: UUID | None = None  # the attempt that was paid
    price: int | None = None
    receipt: ObjectHash | None = None
    closed_us: int | None = None  # from here on nothing is held
    ready_us: int = 0  # while it is open: from when a slot that comes free may go to it
    qualifies: UUID | None = None  # a job of the node's own, for nothing, that shows what this provider can do
    held_until_us: int | None = None  # when its hold ends, in the ledger's time; a qualification has none
    extras: int = 0  # what stronger checks cost on top of the work, fixed when it was ordered

    @property
    def is_live(self) -> bool:
        return self.state in LIVE_JOB

    @property
    def is_own(self) -> bool:
        """Whether it is a planted review: an order of the node's own that looks like any other."""
        return self.buyer == SOURCE and self.qualifies is None and not self.is_second

    @property
    def is_second(self) -> bool:
        """Whether it is a second review, which the node orders for a buyer, out of the buyer's money."""
        return self.buyer == SOURCE and self.key.startswith(SECOND)


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One step in a job's life."""

    n: int
    at_us: int
    what: str  # "opened", "assigned", "failed", "paid" …
    actor: str
    data: dict[str, Any]


def job_id(value: UUID) -> str:
    return show_id("job", value)


def parse_job_id(text: str) -> UUID:
    return parse_id("job", text)


class UnknownJob(NotFound):
    code = "bazaar.job_unknown"
    sentence = "There is no job {job}, or you may not see it."


class UnknownPrefix(NotFound):
    code = "bazaar.prefix_unknown"
    sentence = "No id that you may see starts with '{prefix}'."
    hint = "List ids with `choir job ls` and `choir provider ls`."


class AmbiguousPrefix(Refusal):
    code = "bazaar.prefix_ambiguous"
    sentence = "Several ids start with '{prefix}': {named}."
    hint = "Give more characters."


class JobOver(Refusal):
    code = "bazaar.job_over"
    sentence = "The job {job} is {state} and can no longer be changed."


class BadBudget(Invalid):
    code = "bazaar.bad_budget"
    sentence = "A budget must be from {low} to {high} SAT; {budget} SAT is not."


class BudgetBelowExtras(Invalid):
    code = "bazaar.budget_below_extras"
    sentence = (
        "The stronger checks cost {extras} SAT on top of the work; {budget} SAT leave less than {low} SAT for it."
    )
    hint = "Raise the budget, or order fewer extras or a lower level."


class TooManyJobs(Refusal):
    code = "bazaar.too_many_jobs"
    sentence = "There are already {limit} open jobs, which is the limit."
    hint = "Wait for some of them, or cancel them."


class HoldOfJob(Refusal):
    code = "bazaar.hold_of_job"
    sentence = "The hold {hold} is the budget of the open job {job}."
    hint = "It ends with the job. Its buyer can cancel it with `choir job cancel {job}`."


class KeyOfAnotherJob(Refusal):
    code = "bazaar.key_of_another_job"
    sentence = "The key '{key}' was used for another order."
    hint = "Use a new key for a new order; the same key and order return the same job."


class NotReleased(NotAllowed):
    code = "bazaar.artifact_not_released"
    sentence = "The artifact of {job} is in escrow: it is released to the buyer when it is paid."


class OrderClosed(NotAllowed):
    code = "bazaar.order_closed"
    sentence = "You may not read the order of {job}."
    hint = "Its readers are the buyer, providers that work on it or delivered, and operators during a dispute."


class HiddenClosed(NotAllowed):
    code = "bazaar.hidden_closed"
    sentence = "You may not read the hidden checks of {job}."
    hint = "Their readers are the buyer, and a provider once its own delivery has failed them."


class NotThereYet(NotFound):
    code = "bazaar.not_there"
    sentence = "There is no {what} of {of}, or not yet."


class Removed(Gone):
    code = "bazaar.removed"
    sentence = "The inputs, artifacts and trajectories of {job} were removed at {at}, after their retention time."
    hint = "Hashes, verdicts and receipts stay. Next time keep them longer with `choir job keep`."


class BuyerNeeded(NotAllowed):
    code = "bazaar.buyer_needed"
    sentence = "Only a person or an agent can order work; this credential is for neither."
