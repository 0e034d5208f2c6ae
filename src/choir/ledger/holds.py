"""Drafts for two-phase payments: place a hold, then capture from it, release it, or let it expire.

A hold is an account of its own, so what remains in it is its balance. Its terms are in the placing
entry. Its id follows from the placing key, so that a repeated request names the same hold.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.ledger.model import (
    HOLD_CAPTURE,
    HOLD_EXPIRE,
    HOLD_PLACE,
    HOLD_RELEASE,
    Draft,
    HoldTerms,
    HoldUse,
    Leg,
    account_name,
    hold_account,
)


def place(
    payer: str,
    amount: int,
    *,
    expires_us: int,
    captures: int = 1,
    reason: str,
    source: str,
    key: str,
    refs: tuple[str, ...] = (),
    policy: ObjectHash | None = None,
) -> Draft:
    """Move money from the payer into a new hold."""
    id_ = placed_id(source, key)
    leg = Leg(payer, hold_account(id_, account_name(payer).asset), amount)
    terms = HoldTerms(id_, expires_us, captures)
    return Draft(HOLD_PLACE, reason, source, key, (leg,), refs=refs, policy=policy, hold=terms)


def capture(
    hold: UUID,
    legs: tuple[Leg, ...],
    *,
    final: bool = True,
    reason: str,
    source: str,
    key: str,
    refs: tuple[str, ...] = (),
    receipt: ObjectHash | None = None,
    policy: ObjectHash | None = None,
) -> Draft:
    """Pay out of the hold; a final capture returns what remains to the payer."""
    use = HoldUse(hold, final)
    return Draft(HOLD_CAPTURE, reason, source, key, legs, refs=refs, receipt=receipt, policy=policy, hold=use)


def release(hold: UUID, *, reason: str, source: str, key: str, refs: tuple[str, ...] = ()) -> Draft:
    """Give everything that remains back to the payer."""
    return Draft(HOLD_RELEASE, reason, source, key, (), refs=refs, hold=HoldUse(hold))


def expire(hold: UUID) -> Draft:
    """What the scheduler posts for a hold whose time is over; its key makes it happen once."""
    return Draft(HOLD_EXPIRE, "the hold's time is over", "system:scheduler", f"expire:{hold}", (), hold=HoldUse(hold))


def placed_id(source: str, key: str) -> UUID:
    """The id of the hold that this source places with this key (a UUIDv8 of their hash)."""
    digest = hashlib.sha256(b"\0".join((b"choir-hold-v1", source.encode(), key.encode()))).digest()
    return UUID(int=int.from_bytes(digest[:16]) & ~(0xF << 76) & ~(0b11 << 62) | (0x8 << 76) | (0b10 << 62))
