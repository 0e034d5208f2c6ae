"""Providers, their prices and what is known of them, as they travel."""

from __future__ import annotations

from collections.abc import Sequence

from choir.bazaar.earning import Line
from choir.bazaar.model import UNITS, job_id
from choir.bazaar.providers.model import Book, Isolation, Offer, Qualification, provider_id
from choir.bazaar.providers.record_store import Outcome
from choir.bazaar.providers.showing import Shown
from choir.doors.jobs.views import maybe_time
from choir.doors.providers.shapes import (
    BookOut,
    ClaimsIn,
    EarningsLineOut,
    EarningsOut,
    OfferOut,
    OutcomeOut,
    Period,
    ProviderOut,
)
from choir.foundation.clock import format_time


def provider(shown: Shown, now_us: int) -> ProviderOut:
    item, market = shown.view.provider, shown.view.market
    claimed = {
        "name": item.name,
        "region": market.region,
        "model": item.model or "",
        "isolation": Isolation(market.isolation).label,
    }
    return ProviderOut(
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
        offers=[_offer(offer, shown.books.get(offer.type)) for offer in shown.view.offers],
    )


def _offer(item: Offer, priced: Book | None) -> OfferOut:
    failed = item.qualification is Qualification.FAILED
    return OfferOut(
        type=item.type,
        offered=item.offered,
        qualification=item.qualification.value,
        qualified_at=maybe_time(item.qualified_us),
        retry_at=format_time(item.retry_us) if failed else None,
        book=None if priced is None else book(priced),
    )


def book(item: Book) -> BookOut:
    return BookOut(
        type=item.type,
        version=item.version,
        base=str(item.base),
        per_unit=str(item.per_unit),
        cap=str(item.cap),
        unit=UNITS[item.type].value,
        published_at=format_time(item.published_us),
        effective_at=format_time(item.effective_us),
    )


def outcome(item: Outcome, *, named: bool) -> OutcomeOut:
    return OutcomeOut(
        job=job_id(item.job) if named else None,
        attempt=item.attempt,
        type=item.told.type,
        passed=item.passed,
        price=str(item.price),
        at=format_time(item.at_us),
        reason=item.reason,
    )


def earnings(period: Period, since_us: int | None, lines: Sequence[Line]) -> EarningsOut:
    return EarningsOut(
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
