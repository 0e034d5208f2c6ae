"""Shapes about providers: who sells work, what they claim and charge, and what is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from choir.bazaar.jobs.model import UNITS, JobType, job_id
from choir.bazaar.providers.model import Isolation, Qualification, provider_id
from choir.doors.jobs.shapes import PROVIDER, PROVIDER_OWNER, AttemptOut
from choir.doors.people.shapes import AT
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from choir.bazaar.providers.listing import ListedProvider
    from choir.bazaar.providers.model import Book, Offer
    from choir.bazaar.providers.record_rules import TierNeed
    from choir.bazaar.providers.record_store import Outcome
    from choir.bazaar.settlement.earnings import Bucket, Line

PRICE = r"^(0|[1-9][0-9]{0,17})$"
_PUBLIC = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
_CLAIMS: dict[str, Any] = {"name": "night shift", "region": "eu-west", "model": "", "isolation": "bubblewrap"}


class ClaimsIn(Wire, json_schema_extra=example(**_CLAIMS)):
    """A provider's claims about itself; shown as claimed."""

    name: str = Field(min_length=1, max_length=500)
    region: str = Field(max_length=60, examples=["eu-west"])
    model: str = Field(default="", max_length=500)
    isolation: Literal["local", "bubblewrap", "container", "gvisor", "microvm"]


class ProviderIn(ClaimsIn, json_schema_extra=example(**_CLAIMS, capacity=3, result_key=_PUBLIC, proof="00" * 64)):
    """A registration. The key signs results and trajectories; its proof is a signature over the owner's name."""

    capacity: int = Field(ge=1, le=1_000, description="Maximum concurrent jobs.")
    result_key: str = Field(pattern=r"^[0-9a-f]{64}$", description="BIP-340 public key, in hex; used for nothing else.")
    proof: str = Field(
        pattern=r"^[0-9a-f]{128}$", description="Signature by that key over the digest of `rules.key_proof_digest`."
    )


class ResultKeyIn(Wire, json_schema_extra=example(result_key=_PUBLIC, proof="00" * 64)):
    """A new key to sign results with."""

    result_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    proof: str = Field(pattern=r"^[0-9a-f]{128}$")


class CapabilitiesIn(Wire, json_schema_extra=example(types=["sandbox_run"], capacity=3)):
    """Job types sold, and the capacity."""

    types: list[JobType] = Field(max_length=20)
    capacity: int = Field(ge=1, le=1_000)


class BookIn(Wire, json_schema_extra=example(type="sandbox_run", base="200000", per_unit="500", cap="5000000")):
    """A new version of the prices for a type, in milli-satoshi."""

    type: JobType
    base: str = Field(pattern=PRICE)
    per_unit: str = Field(pattern=PRICE)
    cap: str = Field(pattern=PRICE)
    effective_at: str | None = Field(default=None, max_length=40, description="ISO 8601; default: as soon as allowed.")


_BOOK: dict[str, Any] = {
    "type": "sandbox_run",
    "version": 1,
    "base": "200000",
    "per_unit": "500",
    "cap": "5000000",
    "unit": "cpu_second",
    "published_at": AT,
    "effective_at": AT,
}


class BookOut(Wire, json_schema_extra=example(**_BOOK)):
    """A version of the prices for a type."""

    type: JobType
    version: int
    base: str
    per_unit: str
    cap: str
    unit: str = Field(description="What `per_unit` counts.")
    published_at: str
    effective_at: str

    @classmethod
    def of(cls, item: Book) -> BookOut:
        return cls(
            type=item.type,
            version=item.version,
            base=str(item.base),
            per_unit=str(item.per_unit),
            cap=str(item.cap),
            unit=UNITS[item.type].value,
            published_at=format_time(item.published_us),
            effective_at=format_time(item.effective_us),
        )


class BookPage(Wire, json_schema_extra=example(items=[_BOOK], next=None)):
    items: list[BookOut]
    next: str | None = None


class QuoteOut(
    Wire, json_schema_extra=example(units=60, unit="cpu_second", price="230000", earned="207000", fee="23000")
):
    """What a typical job would cost by prices that are not published yet, and how it would be shared."""

    units: int
    unit: str
    price: str
    earned: str = Field(description="The provider's share.")
    fee: str = Field(description="The platform's share.")


_OFFER: dict[str, Any] = {
    "type": "sandbox_run",
    "offered": True,
    "qualification": "passed",
    "qualified_at": AT,
    "retry_at": None,
    "book": _BOOK,
}


class OfferOut(Wire, json_schema_extra=example(**_OFFER)):
    """One type of job that a provider sells."""

    type: JobType
    offered: bool
    qualification: str = Field(description="needed, running, passed or failed; only `passed` gets jobs.")
    qualified_at: str | None
    retry_at: str | None = Field(description="After a failure: when it may be retried.")
    book: BookOut | None
    bid_bps: int = Field(default=0, description="What is bid below every line of the book, until `bid_until`.")
    bid_until: str | None = None

    @classmethod
    def of(cls, item: Offer, priced: Book | None) -> OfferOut:
        failed = item.qualification is Qualification.FAILED
        return cls(
            type=item.type,
            offered=item.offered,
            qualification=item.qualification.value,
            qualified_at=maybe_time(item.qualified_us),
            retry_at=format_time(item.retry_us) if failed else None,
            book=None if priced is None else BookOut.of(priced),
            bid_bps=item.bid_bps,
            bid_until=maybe_time(item.bid_until_us or None),
        )


_PROVIDER: dict[str, Any] = {
    "id": PROVIDER,
    "owner": PROVIDER_OWNER,
    "result_key": _PUBLIC,
    "claimed": _CLAIMS,
    "registered_at": AT,
    "retired_at": None,
    "online": True,
    "healthy": True,
    "draining": False,
    "version": "1.0",
    "capacity": 3,
    "slots": 3,
    "in_use": 0,
    "tier": 0,
    "newcomer": True,
    "success_bps": None,
    "reputation_bps": 0,
    "jobs": 0,
    "passed": 0,
    "buyers": 0,
    "raw_volume": "0",
    "organic_volume": "0",
    "offers": [_OFFER],
}


class ProviderOut(Wire, json_schema_extra=example(**_PROVIDER)):
    """A provider's public profile: its claims, and the node's records of it."""

    id: str
    owner: str
    result_key: str
    claimed: ClaimsIn | None = Field(description="Null: its owner was erased.")
    registered_at: str
    retired_at: str | None
    online: bool
    healthy: bool
    draining: bool
    version: str
    capacity: int
    slots: int = Field(description="Maximum concurrent jobs, from its declared capacity and its tier.")
    in_use: int
    tier: int
    newcomer: bool
    success_bps: int | None
    reputation_bps: int
    jobs: int
    passed: int
    buyers: int = Field(description="Distinct, independent buyers.")
    raw_volume: str
    organic_volume: str = Field(description="Weighted by independence, minus refunds.")
    offers: list[OfferOut]

    @classmethod
    def of(cls, shown: ListedProvider, now_us: int) -> ProviderOut:
        item, market = shown.view.provider, shown.view.market
        claimed = {
            "name": item.name,
            "region": market.region,
            "model": item.model or "",
            "isolation": Isolation(market.isolation).label,
        }
        return cls(
            id=provider_id(item.id),
            owner=item.owner,
            result_key=item.result_key.hex(),
            claimed=None if item.name is None else ClaimsIn.model_validate(claimed),
            registered_at=format_time(item.registered_us),
            retired_at=maybe_time(item.retired_us),
            online=market.is_alive(now_us),
            healthy=market.healthy,
            draining=market.draining,
            version=market.version,
            capacity=market.capacity,
            slots=market.slots,
            in_use=market.in_use,
            tier=market.tier,
            newcomer=market.newcomer,
            success_bps=market.success_bps,
            reputation_bps=market.reputation_bps,
            jobs=shown.view.jobs,
            passed=shown.view.passed,
            buyers=shown.view.buyers,
            raw_volume=str(shown.view.raw_volume),
            organic_volume=str(shown.view.organic_volume),
            offers=[OfferOut.of(offer, shown.books.get(offer.type)) for offer in shown.view.offers],
        )


class ProviderPage(Wire, json_schema_extra=example(items=[_PROVIDER], next=None)):
    items: list[ProviderOut]
    next: str | None = None


class BeatIn(Wire, json_schema_extra=example(healthy=True, free_slots=3, version="1.0", running=0)):
    """A heartbeat."""

    healthy: bool = True
    free_slots: int = Field(ge=0, le=1_000)
    version: str = Field(default="", max_length=500)
    running: int | None = Field(default=None, ge=0, le=1_000)


class BeatOut(Wire, json_schema_extra=example(provider=_PROVIDER, attempts=[], next_s=20)):
    """The provider's state at the node, and its waiting work."""

    provider: ProviderOut
    attempts: list[AttemptOut]
    next_s: int = Field(
        description="Seconds until the next heartbeat is due, well before the provider counts as silent."
    )
    now: str | None = Field(default=None, description="The node's time, which deadlines and trajectories use.")


class DrainIn(Wire, json_schema_extra=example(draining=True)):
    """Whether to finish running attempts and take no new ones."""

    draining: bool


_OUTCOME: dict[str, Any] = {
    "job": "job_01j9zr1v7cf0m1n2p3q4r5s6t7",
    "attempt": 1,
    "type": "sandbox_run",
    "passed": True,
    "price": "200000",
    "took_ms": 4200,
    "at": AT,
    "reason": "",
}


class OutcomeOut(Wire, json_schema_extra=example(**_OUTCOME)):
    """The outcome of one attempt. Only the provider's owner and operators see the job."""

    job: str | None
    attempt: int
    type: JobType
    passed: bool
    price: str
    took_ms: int = Field(description="From being asked to the outcome.")
    at: str
    reason: str

    @classmethod
    def of(cls, item: Outcome, *, named: bool) -> OutcomeOut:
        return cls(
            job=job_id(item.job) if named else None,
            attempt=item.attempt,
            type=item.told.type,
            passed=item.passed,
            price=str(item.price),
            took_ms=item.latency_us // 1_000,
            at=format_time(item.at_us),
            reason=item.reason,
        )


class OutcomePage(Wire, json_schema_extra=example(items=[_OUTCOME], next=None)):
    items: list[OutcomeOut]
    next: str | None = None


class TierNeedOut(Wire):
    """One requirement of the next tier."""

    what: str = Field(
        description="jobs: passed, by independence, in ten-thousandths; success: basis points; buyers: independent."
    )
    has: int
    needed: int
    met: bool


class DayOut(Wire):
    """Jobs with a verdict on one day (UTC)."""

    day: str
    jobs: int
    passed: int


_NEED: dict[str, Any] = {"what": "buyers", "has": 3, "needed": 10, "met": False}


class StandingOut(
    Wire,
    json_schema_extra=example(
        tier=0, next_tier=[_NEED], typical_ms=4200, days=[{"day": "2026-01-31", "jobs": 3, "passed": 2}]
    ),
):
    """What a provider's record comes to, and what is missing for more."""

    tier: int
    next_tier: list[TierNeedOut] = Field(description="What the next tier requires; empty at the highest.")
    typical_ms: int | None = Field(
        description="Median time of recent jobs that passed, from being asked to the verdict."
    )
    days: list[DayOut] = Field(description="Oldest first; the last is today.")

    @classmethod
    def of(cls, tier: int, needs: Sequence[TierNeed], typical_us: int | None, days: Sequence[Bucket]) -> StandingOut:
        return cls(
            tier=tier,
            next_tier=[TierNeedOut(what=n.name, has=n.has, needed=n.needed, met=n.met) for n in needs],
            typical_ms=None if typical_us is None else typical_us // 1_000,
            days=[DayOut(day=format_time(d.begins_us)[:10], jobs=d.jobs, passed=d.passed) for d in days],
        )


Period = Literal["day", "week", "month", "all"]  # the current one, in UTC; a week begins on Monday


class EarningsLineOut(Wire):
    """Earnings from one job type in a period."""

    type: JobType
    jobs: int = Field(description="Jobs with a verdict.")
    passed: int
    earned: str = Field(description="The provider's share of what was paid, in milli-satoshi; may be negative.")
    fees: str = Field(description="The platform's share.")


class EarningsOut(Wire, json_schema_extra=example(period="week", since=AT, jobs=0, earned="0", fees="0", lines=[])):
    """A provider's earnings in a period: payments posted, minus refunds from disputes."""

    period: Period
    since: str | None
    jobs: int
    earned: str
    fees: str
    lines: list[EarningsLineOut]

    @classmethod
    def of(cls, period: Period, since_us: int | None, lines: Sequence[Line]) -> EarningsOut:
        return cls(
            period=period,
            since=maybe_time(since_us),
            jobs=sum(line.jobs for line in lines),
            earned=str(sum(line.earned for line in lines)),
            fees=str(sum(line.fees for line in lines)),
            lines=[
                EarningsLineOut(
                    type=line.type, jobs=line.jobs, passed=line.passed, earned=str(line.earned), fees=str(line.fees)
                )
                for line in lines
            ],
        )


Step = Literal["day", "week", "month"]


class EarningsStepOut(Wire):
    """Earnings in one day, week or month."""

    begins: str
    jobs: int
    passed: int
    earned: str = Field(description="In milli-satoshi; may be negative.")
    fees: str


class EarningsSeriesOut(
    Wire,
    json_schema_extra=example(
        by="day", steps=[{"begins": "2026-01-31", "jobs": 3, "passed": 2, "earned": "360000", "fees": "40000"}]
    ),
):
    """A provider's earnings over time, oldest first; the last step is the current one."""

    by: Step
    steps: list[EarningsStepOut]

    @classmethod
    def of(cls, by: Step, found: Sequence[Bucket]) -> EarningsSeriesOut:
        return cls(
            by=by,
            steps=[
                EarningsStepOut(
                    begins=format_time(item.begins_us)[:10],
                    jobs=item.jobs,
                    passed=item.passed,
                    earned=str(item.earned),
                    fees=str(item.fees),
                )
                for item in found
            ],
        )
