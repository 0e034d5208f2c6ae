"""Providers: who sells work, what they claim, what they charge, and what is known of them.

What a provider says about itself (name, region, model, isolation, version) is kept and shown as claimed. Tier,
success rate, reputation and volume come from outcomes that the node recorded. Amounts are milli-satoshi,
ratios basis points, and jobs that are weighted by independence are counted in ten-thousandths.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id
from choir.sandbox.model import Tier

ONE_BPS = 10_000  # the whole of a ratio, and one fully independent job
TIERS = (0, 1, 2, 3)

Isolation = Tier  # what the sandbox calls a tier is a provider's isolation; a provider's tier is its standing


@dataclass(frozen=True, slots=True)
class Claims:
    """What a provider says about itself; nobody has checked it."""

    name: str
    region: str  # such as "eu-west": an area, then a place in it
    model: str  # such as "claude-sonnet-4-*"; empty for workers without one
    isolation: Isolation


@dataclass(frozen=True, slots=True)
class Registration:
    """What it takes to become a provider."""

    claims: Claims
    result_key: bytes  # BIP-340, the provider's own: signs results and trajectories
    proof: bytes  # by that key, over `rules.key_proof_digest(owner, result_key)`
    capacity: int  # jobs at once


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as it is kept."""

    id: UUID
    owner: str  # "person:…" or "agent:…": who is paid
    owner_cluster: str
    result_key: bytes
    name: str | None
    model: str | None
    registered_us: int
    retired_us: int | None


@dataclass(frozen=True, slots=True)
class MarketRow:
    """What changes with every job and heartbeat, and what a provider is judged by."""

    provider: UUID
    region: str
    isolation: int
    capacity: int
    busy_elsewhere: int
    tier: int
    slots: int  # jobs at once, now
    in_use: int
    alive_until_us: int
    healthy: bool
    draining: bool
    retired: bool
    version: str
    success_bps: int | None  # None: no record yet
    reputation_bps: int
    newcomer: bool

    @property
    def free(self) -> int:
        return max(0, self.slots - self.in_use)

    def is_alive(self, now_us: int) -> bool:
        return self.alive_until_us > now_us


@dataclass(frozen=True, slots=True)
class Book:
    """A version of a provider's prices for one type of job. Versions are never changed."""

    provider: UUID
    type: JobType
    version: int
    base: int
    per_unit: int
    cap: int
    published_us: int
    effective_us: int
    actor: str

    @property
    def terms(self) -> Terms:
        return Terms(self.base, self.per_unit, self.cap)


class Qualification(StrEnum):
    """Where a provider stands with one type of job."""

    NEEDED = "needed"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"  # may try again later


@dataclass(frozen=True, slots=True)
class Offer:
    """One type of job that a provider sells."""

    provider: UUID
    type: JobType
    offered: bool
    qualification: Qualification
    qualifying_job: UUID | None
    qualified_us: int | None
    retry_us: int
    failed_in_row: int
    version: int
    bid_bps: int = 0  # below the book, while it stands
    bid_until_us: int = 0

    @property
    def selectable(self) -> bool:
        return self.offered and self.qualification is Qualification.PASSED


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a provider says of itself now and then."""

    healthy: bool
    free_slots: int
    version: str = ""
    running: int | None = None  # jobs of this node it had at that moment; None: as many as are counted here


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """What came of one try, as the jobs tell it."""

    job: UUID
    type: JobType
    buyer: str
    passed: bool
    price: int  # what was paid because of it
    latency_us: int
    at_us: int
    reason: str = ""
    independence_bps: int = ONE_BPS  # at most this much counts; the clusters may say less, never more
    attempt: int = 1
    qualification: bool = False  # a job of the node's own: it qualifies, and counts for nothing else
    planted: bool = False  # a review with planted defects, also of the node's own


@dataclass(frozen=True, slots=True)
class Standing:
    """What a record comes to."""

    tier: int
    success_bps: int | None
    reputation_bps: int
    newcomer: bool


@dataclass(frozen=True, slots=True)
class OnlineProvider:
    """A provider that is there now."""

    provider: Provider
    market: MarketRow
    heard_us: int  # the last heartbeat


@dataclass(frozen=True, slots=True)
class ProviderView:
    """All that anybody may see of a provider."""

    provider: Provider
    market: MarketRow
    offers: tuple[Offer, ...]
    jobs: int  # outcomes recorded
    passed: int
    independent_jobs: int  # passed, weighted by independence, in ten-thousandths; what tiers count
    buyers: int  # distinct and independent
    raw_volume: int
    organic_volume: int  # weighted by independence, less what went back to the buyers


def provider_id(value: UUID) -> str:
    return show_id("provider", value)


def parse_provider_id(text: str) -> UUID:
    return parse_id("provider", text)


class UnknownProvider(NotFound):
    code = "bazaar.provider_unknown"
    sentence = "There is no provider {provider}, or it is not yours."
    hint = "Register one with `choir provider serve`."


class ProviderRetired(Refusal):
    code = "bazaar.provider_retired"
    sentence = "The provider {provider} is retired."
    hint = "Register again to restore it with its record."


class AlreadyProvider(Refusal):
    code = "bazaar.provider_exists"
    sentence = "{owner} already has the provider {provider}; there is one per owner."
    hint = "Change its claims, capabilities or prices instead of registering again."


class OwnerNeeded(NotAllowed):
    code = "bazaar.provider_owner_needed"
    sentence = "A provider belongs to a person or an agent; this credential is for neither."


class ResultKeyTaken(Refusal):
    code = "bazaar.result_key_taken"
    sentence = "The key {key} is already in use by an account or another provider."
    hint = "Create a new key for results; it stays on the provider's machine."


class ResultKeyUnproven(Invalid):
    code = "bazaar.result_key_unproven"
    sentence = "The provider did not prove that it owns the key {key}: the signature is not valid."
    hint = "Sign the registration with the secret of the result key."


class BadClaim(Invalid):
    code = "bazaar.bad_claim"
    sentence = "The provider's {what} is not valid: {why}."


class PriceAboveLimit(Refusal):
    code = "bazaar.price_above_limit"
    sentence = "The {what} of {asked_shown} SAT is above {limit_shown} SAT, the maximum at tier {tier} for {work}."
    hint = "The limit is the default price plus the tier's premium; lower the price, or reach a higher tier."


class BadEffectiveTime(Invalid):
    code = "bazaar.bad_effective_time"
    sentence = "The price book's effective time is not valid: {why}."


class BadBid(Invalid):
    code = "bazaar.bad_bid"
    sentence = "The bid is not valid: {why}."


class NotOffered(Refusal):
    code = "bazaar.type_not_offered"
    sentence = "The provider {provider} does not offer {work}."
    hint = "Add the type to its capabilities first."


class NotQualifying(Refusal):
    code = "bazaar.not_qualifying"
    sentence = "The provider {provider} cannot start a qualification for {work} now: {why}."


class BadCriteria(Invalid):
    code = "bazaar.bad_criteria"
    sentence = "The selection criteria are not valid: {why}."


class BadStrategy(Invalid):
    code = "bazaar.bad_strategy"
    sentence = "The selection strategy is not valid: {why}."
    hint = "Use first_available, preferred_then_pool, race, sequential_retry or pinned."
