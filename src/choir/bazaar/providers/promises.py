"""What an offer can come to at best: an upper bound that lets a selection stop early.

A promise is the most points that price and reputation can give, whatever the number of units: the price of a book
against the highest book lies, for any units, between the ratios of their lines. It is kept beside the offer in an
index. A selection looks at the highest promises first, and stops when those that it has cannot be beaten even by
full points for everything else.

Guarantees: a promise is never below what the offer really gets, by the policy that it was made by; selections
notice offers whose promises are another policy's and then look at everybody.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promise_store, rules
from choir.bazaar.providers.model import ONE_BPS
from choir.bazaar.providers.promise_store import PricedOffer, Promise
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.policy import section_hash
from choir.storage.database import Tx

TOP_PRICE_MIN = 100_000  # below this, rounding to whole milli-satoshi is not negligible
_ROUNDING = 2  # points


def policy_name(policy: ProvidersPolicy) -> int:
    """A number that differs between policies."""
    return zlib.crc32(section_hash(policy).encode()) >> 1


def promise(terms: Collection[Terms], type_: JobType, tier: int, reputation_bps: int, policy: ProvidersPolicy) -> int:
    """The most points for price and reputation that any of these terms can get."""
    top = rules.top_terms(type_, policy)
    lowest = min(_lowest_ratio(rules.charged_terms(each, type_, tier, policy), top) for each in terms)
    price_points = policy.weight_price_bps * (ONE_BPS - lowest) // ONE_BPS
    return price_points + policy.weight_reputation_bps * reputation_bps // ONE_BPS + _ROUNDING


def rest_max(policy: ProvidersPolicy) -> int:
    """The most points for everything else."""
    return policy.weight_capacity_bps + policy.weight_isolation_bps + policy.weight_geography_bps


def _lowest_ratio(terms: Terms, top: Terms) -> int:
    lines = ((terms.base, top.base), (terms.per_unit, top.per_unit), (terms.cap, top.cap))
    return min((mine * ONE_BPS // highest for mine, highest in lines if highest), default=0)


def refresh(tx: Tx, providers: Collection[UUID], policy: ProvidersPolicy) -> None:
    """Make the promises of these providers anew: their prices, tier or reputation changed."""
    made = [
        Promise(each.provider, each.type, promise(_at_best(each), each.type, each.tier, each.reputation_bps, policy))
        for each in promise_store.offers(tx, providers)
    ]
    promise_store.put(tx, made, policy_name(policy))


def _at_best(offer: PricedOffer) -> list[Terms]:
    """The lowest that an offer may cost: with its bid, whether that still stands or not."""
    return [rules.bid_terms(each, offer.bid_bps) for each in offer.terms]


def refresh_round(tx: Tx, policy: ProvidersPolicy, limit: int) -> int:
    """Make some promises anew that another policy had made; says of how many providers."""
    found = sorted(promise_store.outdated(tx, policy_name(policy), limit))[:limit]
    if found:
        promise_store.lock(tx, found)
        refresh(tx, found, policy)
    return len(found)
