"""Providers as anybody may see them, many at once in a few statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.providers import record_store, store
from choir.bazaar.providers.model import Book, Offer, Provider, ProviderView
from choir.bazaar.providers.record_rules import Record
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider with the prices in force for what it sells."""

    view: ProviderView
    books: dict[JobType, Book]


def show(tx: Tx, providers: Sequence[Provider], now_us: int) -> list[ListedProvider]:
    """These providers, in their order."""
    ids = [provider.id for provider in providers]
    market = {row.provider: row for row in store.markets(tx, ids)}
    records = record_store.records(tx, ids)
    offers: dict[UUID, list[Offer]] = {id_: [] for id_ in ids}
    for offer in store.offers_of(tx, ids, now_us):
        offers[offer.provider].append(offer)
    books: dict[UUID, dict[JobType, Book]] = {id_: {} for id_ in ids}
    for book in store.books_in_force(tx, ids, now_us):
        books[book.provider][book.type] = book
    found = []
    for provider in providers:
        record = records.get(provider.id, Record())
        view = ProviderView(
            provider,
            market[provider.id],
            tuple(offers[provider.id]),
            jobs=record.jobs,
            passed=record.passed,
            independent_jobs=record.tier_passed_weight,
            buyers=record.buyers,
            raw_volume=record.volume,
            organic_volume=record.organic,
        )
        found.append(ListedProvider(view, books[provider.id]))
    return found
