"""What the market announces, each to the owner of the provider that it is about.

Names, models and other claims of people are not in events: they can be erased.
"""

from __future__ import annotations

from uuid import UUID

from choir.bazaar.providers import store
from choir.bazaar.providers.model import Book, Offer, OutcomeRecord, Qualification, provider_id
from choir.foundation.clock import format_time
from choir.foundation.ids import show_id
from choir.storage.database import Tx
from choir.storage.outbox import EventType, Outbox

NODE = "node"
_CHANGES = {
    "registered": "A provider has registered.",
    "claims_changed": "A provider has changed its claims.",
    "key_changed": "A provider has replaced its result key.",
    "retired": "A provider has retired.",
    "capabilities": "A provider has set its job types and capacity.",
    "bid": "A provider has set or ended a bid below its price book.",
    "online": "A provider is online again.",
    "draining": "A provider is draining: it finishes running attempts and takes no new ones.",
    "undrained": "A provider has resumed taking work.",
    "silent": "A provider sent no heartbeat and is offline.",
    "tier_changed": "A provider's tier has changed.",
    "outcome": "The outcome of an attempt is on a provider's record.",
}
CHANGES = {what: EventType(f"bazaar.provider.{what}", doc) for what, doc in _CHANGES.items()}
BOOK_PUBLISHED = EventType("bazaar.pricebook.published", "A provider has published prices.")
QUALIFICATION = EventType("bazaar.provider.qualification", "A provider's qualification for a job type has changed.")

ALL = (*CHANGES.values(), BOOK_PUBLISHED, QUALIFICATION)


def changed(outbox: Outbox, tx: Tx, what: str, provider: UUID, actor: str = NODE, **data: object) -> None:
    """Something about a provider: registered, retired, draining, undrained, online, silent, …"""
    _announce(outbox, tx, CHANGES[what], provider, actor, data)


def _announce(outbox: Outbox, tx: Tx, type_: EventType, provider: UUID, actor: str, data: dict[str, object]) -> None:
    found = store.get(tx, provider)
    audience = () if found is None else (found.owner,)
    outbox.announce(tx, type_, subject=provider_id(provider), actor=actor, data=data, audience=audience)


def book_published(outbox: Outbox, tx: Tx, book: Book) -> None:
    data: dict[str, object] = {
        "type": book.type.value,
        "version": book.version,
        "base": str(book.base),
        "per_unit": str(book.per_unit),
        "cap": str(book.cap),
        "effective_at": format_time(book.effective_us),
    }
    _announce(outbox, tx, BOOK_PUBLISHED, book.provider, book.actor, data)


def tier_changed(outbox: Outbox, tx: Tx, provider: UUID, before: int, after: int) -> None:
    changed(outbox, tx, "tier_changed", provider, before=before, after=after)


def qualification(outbox: Outbox, tx: Tx, offer: Offer, reason: str) -> None:
    """Where a provider stands with a type now; why, if it failed, and when it is asked again."""
    data: dict[str, object] = {"type": offer.type.value, "state": offer.qualification.value}
    if offer.qualifying_job is not None:
        data["job"] = show_id("job", offer.qualifying_job)
    if reason:
        data["reason"] = reason[:200]
    if offer.qualification in (Qualification.FAILED, Qualification.NEEDED) and offer.retry_us:
        data["again_at"] = format_time(offer.retry_us)
    _announce(outbox, tx, QUALIFICATION, offer.provider, NODE, data)


def outcome(outbox: Outbox, tx: Tx, provider: UUID, told: OutcomeRecord) -> None:
    changed(
        outbox,
        tx,
        "outcome",
        provider,
        job=show_id("job", told.job),
        attempt=told.attempt,
        type=told.type.value,
        passed=told.passed,
        price=str(told.price),
        reason=told.reason[:200],
    )
