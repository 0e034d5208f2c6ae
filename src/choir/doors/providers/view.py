"""Providers as pages show them: names, states, prices and records in words.

Guarantees: what a provider says about itself is shown as it was checked at registration (printable, bounded), and
marked as claimed; prices are what would be charged now, within what the tier may ask; no buyer is named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from choir.bazaar.jobs.model import UNITS, JobType, Unit
from choir.bazaar.jobs.reasons import WORDS
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers import rules
from choir.bazaar.providers.listing import ListedProvider
from choir.bazaar.providers.model import ONE_BPS, Isolation, MarketRow, Offer, Provider, Qualification, provider_id
from choir.bazaar.providers.record_rules import TierNeed
from choir.bazaar.providers.record_store import Outcome
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement.earnings import Bucket
from choir.bazaar.settlement.pricing import Terms
from choir.doors.web import charts
from choir.doors.web.charts import Chart, Point
from choir.doors.web.names import Name, names
from choir.doors.web.rendering import day
from choir.foundation.clock import MICROSECONDS
from choir.foundation.words import count
from choir.node import Node
from choir.storage.database import Tx

TYPES = tuple(JobType)
KINDS = {
    JobType.SANDBOX_RUN: ("run", "runs"),
    JobType.CODE_REVIEW: ("review", "reviews"),
    JobType.PATCH_GEN: ("patch", "patches"),
    JobType.REPO_INDEX: ("index", "indexes"),
    JobType.TEXT_GEN: ("text", "texts"),
}
_UNITS = {
    Unit.FILE: ("file", "files"),
    Unit.CPU_SECOND: ("CPU second", "CPU seconds"),
    Unit.THOUSAND_TOKENS: ("thousand tokens", "thousand tokens"),
}
_QUALIFICATIONS = {
    Qualification.NEEDED: "not qualified yet",
    Qualification.RUNNING: "qualifying now",
    Qualification.PASSED: "qualified",
    Qualification.FAILED: "failed to qualify",
}
_NEEDS = {
    "jobs": "Passed jobs, weighted by the buyers' independence",
    "success": "Success rate",
    "buyers": "Independent buyers",
    "bond": "Bond, in SAT",
}
_MINUTE_S, _HOUR_S = 60, 3_600


@dataclass(frozen=True, slots=True)
class State:
    """Whether a provider takes work now, in a word; the kind colours its badge."""

    word: str
    kind: str  # "good", "mind", "bad" or nothing
    about: str


@dataclass(frozen=True, slots=True)
class OfferLine:
    """A type that a provider sells, at what it charges now."""

    type: JobType
    offered: bool
    qualification: str
    selectable: bool
    retry_us: int | None
    terms: Terms | None
    capped: bool  # its book asks for more than its tier may
    version: int
    unit: str
    typical: str  # such as "3 files"
    typical_price: int


@dataclass(frozen=True, slots=True)
class ProviderLine:
    """A provider with all that anybody may see of it."""

    id: str
    name: str
    erased: bool
    owner: Name
    state: State
    shown: ListedProvider
    isolation: str
    offers: list[OfferLine]
    success: str
    reputation: str
    typical_time: str

    @property
    def market(self) -> MarketRow:
        return self.shown.view.market

    @property
    def failed(self) -> int:
        return self.shown.view.jobs - self.shown.view.passed

    @property
    def sold(self) -> list[OfferLine]:
        return [offer for offer in self.offers if offer.offered]


@dataclass(frozen=True, slots=True)
class NeedLine:
    """A requirement of the next tier, in words."""

    text: str
    has: str
    needed: str
    met: bool
    value: int
    most: int


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """What came of one try."""

    kind: str
    passed: bool
    why: str
    price: int
    took: str
    at_us: int
    job: UUID


def provider_lines(node: Node, tx: Tx, providers: Sequence[Provider]) -> list[ProviderLine]:
    """These providers, in their order."""
    service, now_us = node.bazaar.providers, node.clock.now_us()
    owners = names(node, tx, [item.owner for item in providers])
    times = service.typical_us(tx, [item.id for item in providers])
    return [
        _line(node, shown, owners[shown.view.provider.owner], times.get(shown.view.provider.id), now_us)
        for shown in service.show(tx, *providers)
    ]


def _line(node: Node, shown: ListedProvider, owner: Name, typical_us: int | None, now_us: int) -> ProviderLine:
    found, market = shown.view.provider, shown.view.market
    return ProviderLine(
        id=provider_id(found.id),
        name=name_of(found),
        erased=found.name is None,
        owner=owner,
        state=state_of(market, now_us),
        shown=shown,
        isolation=Isolation(market.isolation).label,
        offers=[_offer(node, offer, shown) for offer in shown.view.offers],
        success=percent(market.success_bps),
        reputation=percent(market.reputation_bps),
        typical_time="none yet" if typical_us is None else lasting(typical_us),
    )


def _offer(node: Node, offer: Offer, shown: ListedProvider) -> OfferLine:
    policy = node.policy.of(ProvidersPolicy)
    book = shown.books.get(offer.type)
    terms = None if book is None else rules.charged_terms(book.terms, offer.type, shown.view.market.tier, policy)
    units_milli = rules.typical_units_milli(offer.type, policy)
    return OfferLine(
        type=offer.type,
        offered=offer.offered,
        qualification=_QUALIFICATIONS[offer.qualification],
        selectable=offer.selectable,
        retry_us=offer.retry_us if offer.qualification is Qualification.FAILED else None,
        terms=terms,
        capped=book is not None and book.terms != terms,
        version=offer.version,
        unit=unit_of(offer.type),
        typical=units_in_words(offer.type, units_milli // 1_000),
        typical_price=0 if terms is None else rules.price(terms, units_milli),
    )


# Words


def name_of(provider: Provider) -> str:
    """What it calls itself; the owner's erasure took its name."""
    return "An erased provider" if provider.name is None else provider.name


def state_of(market: MarketRow, now_us: int) -> State:
    """Whether it takes work now."""
    if market.retired:
        return State("Retired", "", "It takes no more jobs.")
    if not market.is_alive(now_us):
        return State("Offline", "", "The node has not heard from it lately, so it gets no jobs.")
    if not market.healthy:
        return State("Unhealthy", "bad", "It says of itself that it cannot work now.")
    if market.draining:
        return State("Draining", "mind", "It finishes its jobs and takes no new ones.")
    if not market.free:
        return State("Full", "mind", "All its slots are in use.")
    return State("Online", "good", "It can take a job now.")


def unit_of(type_: JobType) -> str:
    """What a price counts besides its base, one of it."""
    return _UNITS[UNITS[type_]][0]


def units_in_words(type_: JobType, units: int) -> str:
    return count(units, *_UNITS[UNITS[type_]])


def percent(bps: int | None) -> str:
    """A ratio as people write it, with the decimals that it needs."""
    return "none yet" if bps is None else f"{Decimal(bps) / 100} %"


def lasting(span_us: int) -> str:
    """How long something took."""
    seconds = span_us // MICROSECONDS
    if seconds < _MINUTE_S:
        return f"{seconds}.{span_us % MICROSECONDS * 10 // MICROSECONDS} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min {seconds % _MINUTE_S} s"
    return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S} min"


def need_lines(needs: Sequence[TierNeed]) -> list[NeedLine]:
    """What the next tier asks for, in words."""
    return [
        NeedLine(
            _NEEDS[need.name],
            _amount(need.name, need.has),
            _amount(need.name, need.needed),
            need.met,
            min(need.has, need.needed),
            need.needed,
        )
        for need in needs
    ]


def _amount(name: str, number: int) -> str:
    if name == "success":
        return percent(number)
    if name == "bond":
        return f"{number // 1_000:,}"
    return f"{number // ONE_BPS if name == 'jobs' else number:,}"


def outcome_lines(outcomes: Collection[Outcome]) -> list[OutcomeLine]:
    """Outcomes in words. A reason that is not in our table could be anybody's text, and is not shown."""
    return [
        OutcomeLine(
            KINDS[item.told.type][0],
            item.passed,
            "" if item.passed else WORDS.get(item.reason, ""),
            item.price,
            lasting(item.latency_us),
            item.at_us,
            item.job,
        )
        for item in outcomes
    ]


# Charts


def jobs_chart(days: Sequence[Bucket]) -> Chart:
    """Jobs with a verdict, day by day."""
    points = [
        Point(day(item.begins_us), item.jobs, f"{count(item.jobs, 'job')}, {item.passed} passed") for item in days
    ]
    return charts.bars(f"Jobs per day, last {count(len(days), 'day')}", "Jobs", points)


def earnings_chart(by: str, steps: Sequence[Bucket], shown: Sequence[str]) -> Chart:
    """What came in, step by step. Where more went back than came in, there is no bar; the number says it."""
    points = [Point(day(item.begins_us), max(0, item.earned), text) for item, text in zip(steps, shown, strict=True)]
    return charts.bars(f"Earned per {by}, last {count(len(steps), by)}", "Earned", points)


# Prices


@dataclass(frozen=True, slots=True)
class Share:
    """A price, and who gets which part of it."""

    price: int
    provider: int
    platform: int


def share_of(node: Node, price: int) -> Share:
    parts = pricing.shares(price, node.policy.of(BazaarPolicy))
    return Share(price, parts.provider, parts.platform)
