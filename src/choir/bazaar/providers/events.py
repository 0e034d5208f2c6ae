"""What the market announces. Names, models and other claims of people are not in events: they can be erased."""

from __future__ import annotations

from uuid import UUID

from choir.bazaar.model import JobType
from choir.bazaar.providers.model import Book, OutcomeRecord, provider_id
from choir.foundation.clock import format_time
from choir.foundation.ids import show_id
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

NODE = "node"


def changed(outbox: Outbox, tx: Tx, what: str, provider: UUID, actor: str = NODE, **data: object) -> None:
    """Something about a provider: registered, retired, draining, undrained, online, silent, …"""
    outbox.announce(tx, f"bazaar.provider.{what}", subject=provider_id(provider), actor=actor, data=data)


def book_published(outbox: Outbox, tx: Tx, book: Book) -> None:
    outbox.announce(
        tx,
        "bazaar.pricebook.published",
        subject=provider_id(book.provider),
        actor=book.actor,
        data={
            "type": book.type.value,
            "version": book.version,
            "base": str(book.base),
            "per_unit": str(book.per_unit),
            "cap": str(book.cap),
            "effective_at": format_time(book.effective_us),
        },
    )


def tier_changed(outbox: Outbox, tx: Tx, provider: UUID, before: int, after: int) -> None:
    changed(outbox, tx, "tier_changed", provider, before=before, after=after)


def qualification(outbox: Outbox, tx: Tx, provider: UUID, type_: JobType, state: str) -> None:
    changed(outbox, tx, "qualification", provider, type=type_.value, state=state)


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
