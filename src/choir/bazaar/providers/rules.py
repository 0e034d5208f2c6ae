"""What a provider may claim, charge and take on. Pure: data and policy in, data or a refusal out.

A premium is relative to the default table, line by line: base, price per unit and cap may each be as far above
the default as the tier allows. So for every number of units the price is at most the default price and the
premium, and no clever mix of lines gets around it.
"""

from __future__ import annotations

import hashlib
import re
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers.model import (
    ONE_BPS,
    TIERS,
    BadBid,
    BadClaim,
    BadEffectiveTime,
    Claims,
    Heartbeat,
    MarketRow,
    PriceAboveLimit,
    Qualification,
    ResultKeyUnproven,
)
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.foundation.signing import BadSignature, verify_bip340
from choir.identity.keys.nostr_keys import npub

_PROOF = b"choir-provider-v1"
_MILLI = 1_000
_REGION = re.compile(r"[a-z0-9]{1,12}(-[a-z0-9]{1,12}){0,2}", re.ASCII)


# What is claimed


def checked_claims(claims: Claims, policy: ProvidersPolicy) -> Claims:
    """The claims, trimmed, if they can be shown to people."""
    return Claims(
        _shown("name", claims.name, 1, policy.name_chars_max),
        checked_region(claims.region),
        _shown("model", claims.model, 0, policy.claim_chars_max),
        claims.isolation,
    )


def checked_region(region: str) -> str:
    """A region such as "eu-west"."""
    if _REGION.fullmatch(region) is None:
        raise BadClaim(what="region", why="write it like eu-west, in lower-case letters and digits")
    return region


def area_of(region: str) -> str:
    """The part of a region that neighbours share: "eu" of "eu-west"."""
    return region.partition("-")[0]


def checked_capacity(capacity: int, policy: ProvidersPolicy) -> int:
    if not 1 <= capacity <= policy.capacity_max:
        raise BadClaim(what="capacity", why=f"it must be from 1 to {policy.capacity_max} jobs")
    return capacity


def checked_version(version: str, policy: ProvidersPolicy) -> str:
    return _shown("version", version, 0, policy.claim_chars_max)


def _shown(what: str, text: str, low: int, high: int) -> str:
    text = text.strip()
    if not low <= len(text) <= high:
        raise BadClaim(what=what, why=f"it must have {low} to {high} characters")
    if not text.isprintable():
        raise BadClaim(what=what, why="it has non-printable characters")
    return text


def key_proof_digest(owner: str, result_key: bytes) -> bytes:
    """What a result key signs to become the key of this owner's provider."""
    return hashlib.sha256(_PROOF + result_key + owner.encode()).digest()


def check_key_proof(owner: str, result_key: bytes, proof: bytes) -> None:
    try:
        verify_bip340(result_key, key_proof_digest(owner, result_key), proof)
    except BadSignature:
        raise ResultKeyUnproven(key=npub(result_key)) from None


def shuffle_of(provider: UUID) -> int:
    """A number that is random but always the same: it orders equals without a favourite."""
    return int.from_bytes(hashlib.sha256(provider.bytes).digest()[:8]) >> 1


# Prices


def default_terms(type_: JobType, policy: ProvidersPolicy) -> Terms:
    """The line of the default table."""
    base, unit, cap = (getattr(policy, f"{type_.value}_{part}") for part in ("base", "unit", "cap"))
    return Terms(base, unit, cap)


def typical_units_milli(type_: JobType, policy: ProvidersPolicy) -> int:
    """The size of the job that prices are shown for, in thousandths of the type's unit."""
    units: int = getattr(policy, f"{type_.value}_typical")
    return units * _MILLI


def premium_bps(tier: int, policy: ProvidersPolicy) -> int:
    return (
        policy.tier_0_premium_bps,
        policy.tier_1_premium_bps,
        policy.tier_2_premium_bps,
        policy.tier_3_premium_bps,
    )[tier]


def highest_terms(type_: JobType, tier: int, policy: ProvidersPolicy) -> Terms:
    """The most that a tier may ask."""
    default, bps = default_terms(type_, policy), ONE_BPS + premium_bps(tier, policy)
    return Terms(default.base * bps // ONE_BPS, default.per_unit * bps // ONE_BPS, default.cap * bps // ONE_BPS)


def top_terms(type_: JobType, policy: ProvidersPolicy) -> Terms:
    """The most that any tier may ask: what prices are scored against."""
    every = [highest_terms(type_, tier, policy) for tier in TIERS]
    return Terms(max(t.base for t in every), max(t.per_unit for t in every), max(t.cap for t in every))


def check_terms(terms: Terms, type_: JobType, tier: int, policy: ProvidersPolicy) -> None:
    """Raise unless the tier may ask these prices."""
    limit = highest_terms(type_, tier, policy)
    for what, asked, most in (
        ("base price", terms.base, limit.base),
        ("price per unit", terms.per_unit, limit.per_unit),
        ("cap", terms.cap, limit.cap),
    ):
        if asked < 0:
            raise BadClaim(what=what, why="it cannot be negative")
        if asked > most:
            raise PriceAboveLimit(
                what=what, asked=asked, limit=most, tier=tier, type=type_.value, work=type_.word,
                asked_shown=Asset.SAT.format(asked), limit_shown=Asset.SAT.format(most),
            )  # fmt: skip


def charged_terms(terms: Terms, type_: JobType, tier: int, policy: ProvidersPolicy) -> Terms:
    """What a book comes to now. A provider that fell to a lower tier keeps its book but not the premium."""
    limit = highest_terms(type_, tier, policy)
    return Terms(min(terms.base, limit.base), min(terms.per_unit, limit.per_unit), min(terms.cap, limit.cap))


def bid_terms(terms: Terms, bid_bps: int) -> Terms:
    """What a book comes to with a bid so much below it, line by line; never above the book."""
    rest = ONE_BPS - bid_bps
    return Terms(terms.base * rest // ONE_BPS, terms.per_unit * rest // ONE_BPS, terms.cap * rest // ONE_BPS)


def check_bid(bid_bps: int, until_us: int, now_us: int, policy: ProvidersPolicy) -> None:
    """Raise unless a provider may bid so much below its book until then."""
    if not 1 <= bid_bps <= policy.bid_bps_max:
        raise BadBid(why=f"it must be from 0.01 to {policy.bid_bps_max / 100:g} % below the price book")
    if not now_us < until_us <= now_us + policy.bid_s_max * MICROSECONDS:
        raise BadBid(why=f"it must end after now and within {policy.bid_s_max} seconds")


def price(terms: Terms, units_milli: int) -> int:
    """What so many thousandths of a unit cost by these terms, whatever the buyer's ceiling."""
    return pricing.price(terms, units_milli, terms.cap)


def effective_us(asked_us: int | None, now_us: int, policy: ProvidersPolicy, *, first: bool) -> int:
    """When a book takes effect: at once, or at a later time that was asked for."""
    if asked_us is None or asked_us == now_us:
        return now_us
    if first:
        raise BadEffectiveTime(why="the first price book of a type must take effect at once")
    if asked_us < now_us:
        raise BadEffectiveTime(why="that time is in the past")
    if asked_us > now_us + policy.book_ahead_s_max * MICROSECONDS:
        raise BadEffectiveTime(why=f"it is more than {policy.book_ahead_s_max} seconds ahead")
    return asked_us


# Capacity


def tier_slots(tier: int, policy: ProvidersPolicy) -> int:
    return (policy.tier_0_slots, policy.tier_1_slots, policy.tier_2_slots, policy.tier_3_slots)[tier]


def slots(capacity: int, busy_elsewhere: int, tier: int, policy: ProvidersPolicy) -> int:
    """Jobs at once: what is declared, less what is taken by others, and never more than the tier allows."""
    return max(0, min(capacity - busy_elsewhere, tier_slots(tier, policy)))


def busy_elsewhere(beat: Heartbeat, row: MarketRow) -> int:
    """Slots that are taken by something that is not counted here.

    A provider that says how many of our jobs it had at that moment is understood exactly. Otherwise a job that
    came or went while the heartbeat was on its way is taken for somebody else's, until the next one.
    """
    ours = row.in_use if beat.running is None else beat.running
    return max(0, row.capacity - max(0, ours) - max(0, beat.free_slots))


# Qualification


def first_qualification(policy: ProvidersPolicy) -> Qualification:
    return Qualification.NEEDED if policy.qualification_required else Qualification.PASSED


def after_qualification(
    passed: bool, failed_before: int, now_us: int, policy: ProvidersPolicy
) -> tuple[Qualification, int, int]:
    """The state, how often it has failed in a row, and when it may be tried again."""
    if passed:
        return Qualification.PASSED, 0, 0
    failed = failed_before + 1
    return Qualification.FAILED, failed, now_us + failed * policy.qualification_retry_s * MICROSECONDS
