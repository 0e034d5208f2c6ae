"""Providers, offers, price books and slots in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import LiteralString
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.providers.model import Book, MarketRow, Offer, Provider, Qualification
from choir.storage.database import Tx

_PROVIDER: LiteralString = (
    "select id, owner, owner_cluster, result_key, name, model, registered_us, retired_us from providers"
)
_MARKET: LiteralString = (
    "select provider, region, isolation, capacity, busy_elsewhere, tier, slots, in_use, alive_until_us, healthy,"
    " draining, retired, version, success_bps, reputation_bps, newcomer from provider_market"
)
_OFFER: LiteralString = (
    "select provider, type, offered, qualification, qualifying_job, qualified_us, retry_us, failed_in_row,"
    " case when next_us <= %s then next_version else version end as version, bid_bps, bid_until_us from provider_offers"
)
_BOOK: LiteralString = (
    "select provider, type, version, base, per_unit, cap, published_us, effective_us, actor from price_books"
)


# Providers


def insert(tx: Tx, provider: Provider) -> bool:
    """Add a provider; False: its owner has one."""
    added = tx.run(
        "insert into providers (id, owner, owner_cluster, result_key, name, model, registered_us)"
        " values (%s, %s, %s, %s, %s, %s, %s) on conflict (owner) do nothing",
        provider.id, provider.owner, provider.owner_cluster, provider.result_key, provider.name, provider.model,
        provider.registered_us,
    )  # fmt: skip
    return added == 1


def insert_market(
    tx: Tx, provider: UUID, shuffle: int, region: str, area: str, isolation: int, capacity: int, slots: int
) -> None:
    tx.run(
        "insert into provider_market (provider, shuffle, region, area, isolation, capacity, slots)"
        " values (%s, %s, %s, %s, %s, %s, %s)",
        provider, shuffle, region, area, isolation, capacity, slots,
    )  # fmt: skip
    tx.run("insert into provider_records (provider) values (%s)", provider)


def get(tx: Tx, provider: UUID) -> Provider | None:
    return tx.one_or_none(Provider, _PROVIDER + " where id = %s", provider)


def of_owner(tx: Tx, owner: str) -> Provider | None:
    return tx.one_or_none(Provider, _PROVIDER + " where owner = %s", owner)


def of_owners(tx: Tx, owners: Collection[str]) -> list[Provider]:
    """The providers of these owners, in order of id, retired ones too."""
    return tx.all(Provider, _PROVIDER + " where owner = any(%s) order by id", list(owners))


def by_ids(tx: Tx, ids: Collection[UUID]) -> list[Provider]:
    return tx.all(Provider, _PROVIDER + " where id = any(%s)", list(ids))


def page(tx: Tx, after: UUID, limit: int) -> list[Provider]:
    """Providers that are not retired, in order of id."""
    return tx.all(Provider, _PROVIDER + " where id > %s and retired_us is null order by id limit %s", after, limit)


def ids_between(tx: Tx, first: UUID, last: UUID, limit: int) -> list[UUID]:
    """Ids of providers in a range, retired ones too."""
    rows = tx.rows("select id from providers where id between %s and %s order by id limit %s", first, last, limit)
    return [row[0] for row in rows]


def ids_page(tx: Tx, after: UUID, limit: int) -> list[UUID]:
    """Ids of all providers, retired ones too."""
    return [row[0] for row in tx.rows("select id from providers where id > %s order by id limit %s", after, limit)]


def in_cluster(tx: Tx, cluster: str) -> list[UUID]:
    return [row[0] for row in tx.rows("select id from providers where owner_cluster = %s order by id", cluster)]


def set_claims(tx: Tx, provider: UUID, name: str | None, model: str | None) -> None:
    tx.run("update providers set name = %s, model = %s where id = %s", name, model, provider)


def set_retired(tx: Tx, provider: UUID, retired_us: int | None) -> None:
    tx.run("update providers set retired_us = %s where id = %s", retired_us, provider)
    tx.run("update provider_market set retired = %s where provider = %s", retired_us is not None, provider)


def set_cluster(tx: Tx, provider: UUID, cluster: str) -> None:
    tx.run("update providers set owner_cluster = %s where id = %s and owner_cluster <> %s", cluster, provider, cluster)


def set_key(tx: Tx, provider: UUID, public: bytes, since_us: int) -> bool:
    """Use a result key; False: it is, or was, another provider's."""
    tx.run(
        "insert into provider_keys (public, provider, since_us) values (%s, %s, %s) on conflict do nothing",
        public, provider, since_us,
    )  # fmt: skip
    if tx.value("select provider from provider_keys where public = %s", public) != provider:
        return False
    tx.run("update providers set result_key = %s where id = %s", public, provider)
    return True


def keys(tx: Tx, provider: UUID) -> list[bytes]:
    """Every key that it ever signed with."""
    rows = tx.rows("select public from provider_keys where provider = %s order by since_us", provider)
    return [bytes(row[0]) for row in rows]


# The market row


def market(tx: Tx, provider: UUID) -> MarketRow | None:
    return tx.one_or_none(MarketRow, _MARKET + " where provider = %s", provider)


def online(tx: Tx, after: UUID, limit: int) -> list[MarketRow]:
    """Those that were heard from and have not been silent for too long, in order of id."""
    return tx.all(MarketRow, _MARKET + " where provider > %s and not silent order by provider limit %s", after, limit)


def markets(tx: Tx, providers: Collection[UUID]) -> list[MarketRow]:
    return tx.all(MarketRow, _MARKET + " where provider = any(%s)", list(providers))


def lock(tx: Tx, providers: Collection[UUID]) -> list[MarketRow]:
    """These rows, unchanged until the transaction ends; in order of id, so that nobody waits in a circle."""
    return tx.all(
        MarketRow, _MARKET + " where provider = any(%s) order by provider for no key update", sorted(providers)
    )


def set_market_claims(tx: Tx, provider: UUID, region: str, area: str, isolation: int) -> None:
    tx.run(
        "update provider_market set region = %s, area = %s, isolation = %s where provider = %s",
        region, area, isolation, provider,
    )  # fmt: skip


def set_capacity(tx: Tx, provider: UUID, capacity: int, slots: int) -> None:
    tx.run("update provider_market set capacity = %s, slots = %s where provider = %s", capacity, slots, provider)


def set_draining(tx: Tx, provider: UUID, draining: bool) -> None:
    tx.run("update provider_market set draining = %s where provider = %s", draining, provider)


def heard(
    tx: Tx, provider: UUID, alive_until_us: int, healthy: bool, busy_elsewhere: int, slots: int, version: str
) -> None:
    tx.run(
        "update provider_market set alive_until_us = greatest(alive_until_us, %s), silent = false, healthy = %s,"
        " busy_elsewhere = %s, slots = %s, version = %s where provider = %s",
        alive_until_us, healthy, busy_elsewhere, slots, version, provider,
    )  # fmt: skip


def silence(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Take those who were not heard from off the market; rows that somebody works with wait for the next round."""
    rows = tx.rows(
        "update provider_market set silent = true where provider in ("
        " select provider from provider_market where not silent and alive_until_us <= %s order by provider limit %s"
        " for no key update skip locked) returning provider",
        now_us, limit,
    )  # fmt: skip
    return sorted(row[0] for row in rows)


def excuse(tx: Tx, now_us: int, until_us: int) -> int:
    """Let those who would count as silent now be heard from until then; says how many."""
    return tx.run(
        "update provider_market set alive_until_us = %s"
        " where not silent and alive_until_us <= %s and alive_until_us > 0",
        until_us, now_us,
    )  # fmt: skip


def turn_back(tx: Tx, since_us: int, by_us: int) -> None:
    """Move what was to come after that time so much earlier: when silence begins, and when trials may."""
    now_us = since_us - by_us
    tx.run(
        "update provider_market set alive_until_us = greatest(alive_until_us - %s, %s) where alive_until_us > %s",
        by_us, now_us, now_us,
    )  # fmt: skip
    tx.run(
        "update provider_offers set retry_us = greatest(retry_us - %s, %s) where retry_us > %s", by_us, now_us, now_us
    )


def gone(tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
    """Of these, the ones that were not heard from lately."""
    rows = tx.rows(
        "select provider from provider_market where provider = any(%s) and (silent or alive_until_us <= %s)",
        list(providers), now_us,
    )  # fmt: skip
    return {row[0] for row in rows}


def unheard(tx: Tx, provider: UUID) -> None:
    """As if it had never been heard from."""
    tx.run("update provider_market set alive_until_us = 0, silent = true where provider = %s", provider)


def any_free(tx: Tx, providers: Collection[UUID], now_us: int) -> bool:
    found = tx.row(
        "select 1 from provider_market where provider = any(%s) and available and alive_until_us > %s limit 1",
        list(providers), now_us,
    )  # fmt: skip
    return found is not None


# Slots


def reserve(tx: Tx, provider: UUID, job: UUID, now_us: int) -> bool:
    """Take a slot for a job that is locked, unless it has one; False: there is none now.

    The update looks again once it has the row, so the limit holds.
    """
    return bool(
        tx.value(
            "with had as materialized (select 1 from provider_slots where provider = %s and job = %s),"
            " taken as (update provider_market set in_use = in_use + 1"
            "  where provider = %s and available and alive_until_us > %s and not exists (select from had)"
            "  returning provider),"
            " kept as (insert into provider_slots (provider, job, at_us) select provider, %s, %s from taken"
            "  returning 1)"
            " select exists (select from had) or exists (select from kept)",
            provider, job, provider, now_us, job, now_us,
        )
    )  # fmt: skip


def release(tx: Tx, provider: UUID, job: UUID) -> bool:
    """Give a slot back; False: the job had none."""
    freed = tx.run(
        "with had as (delete from provider_slots where provider = %s and job = %s returning provider)"
        " update provider_market m set in_use = in_use - 1 from had where m.provider = had.provider",
        provider, job,
    )  # fmt: skip
    return freed == 1


# Price books


def last_books(tx: Tx, provider: UUID, type_: JobType, before: int, limit: int) -> list[Book]:
    """A page of versions, newest first."""
    found = tx.all(
        Book, _BOOK + " where provider = %s and type = %s and version < %s order by version desc limit %s",
        provider, type_, before, limit,
    )  # fmt: skip
    return [_typed_book(book) for book in found]


def book_at(tx: Tx, provider: UUID, type_: JobType, at_us: int) -> Book | None:
    """The version that holds at a time: a later one takes the place of one that is still waiting."""
    found = tx.one_or_none(
        Book,
        _BOOK + " book where provider = %s and type = %s and effective_us <= %s and not exists ("  # noqa: S608
        " select 1 from price_books later where later.provider = book.provider and later.type = book.type"
        " and later.version = book.version + 1 and later.published_us < book.effective_us)"
        " order by version desc limit 1",
        provider, type_, at_us,
    )  # fmt: skip
    return None if found is None else _typed_book(found)


def books_in_force(tx: Tx, providers: Collection[UUID], now_us: int) -> list[Book]:
    """The version that each offer of these providers is sold at now."""
    found = tx.all(
        Book,
        "select b.provider, b.type, b.version, b.base, b.per_unit, b.cap, b.published_us, b.effective_us, b.actor"
        " from provider_offers o join price_books b on b.provider = o.provider and b.type = o.type"
        " and b.version = case when o.next_us <= %s then o.next_version else o.version end"
        " where o.provider = any(%s)",
        now_us, list(providers),
    )  # fmt: skip
    return [_typed_book(book) for book in found]


def insert_book(tx: Tx, book: Book) -> None:
    tx.run(
        "insert into price_books (provider, type, version, base, per_unit, cap, published_us, effective_us, actor)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        book.provider, book.type, book.version, book.base, book.per_unit, book.cap, book.published_us,
        book.effective_us, book.actor,
    )  # fmt: skip


def _typed_book(book: Book) -> Book:
    return Book(
        book.provider, JobType(book.type), book.version, book.base, book.per_unit, book.cap, book.published_us,
        book.effective_us, book.actor,
    )  # fmt: skip


# Offers


def offers(tx: Tx, provider: UUID, now_us: int) -> list[Offer]:
    found = tx.all(Offer, _OFFER + " where provider = %s order by type", now_us, provider)
    return [_typed_offer(offer) for offer in found]


def offers_of(tx: Tx, providers: Collection[UUID], now_us: int) -> list[Offer]:
    found = tx.all(Offer, _OFFER + " where provider = any(%s) order by provider, type", now_us, list(providers))
    return [_typed_offer(offer) for offer in found]


def offer(tx: Tx, provider: UUID, type_: JobType, now_us: int) -> Offer | None:
    found = tx.one_or_none(Offer, _OFFER + " where provider = %s and type = %s", now_us, provider, type_)
    return None if found is None else _typed_offer(found)


def put_offer(
    tx: Tx, current: Book, coming: Book | None, qualification: Qualification, qualified_us: int | None
) -> None:
    """Offer a type at these prices; one that is known already keeps its qualification."""
    following = (
        (None,) * 5
        if coming is None
        else (coming.effective_us, coming.version, coming.base, coming.per_unit, coming.cap)
    )
    tx.run(
        "insert into provider_offers (provider, type, offered, qualification, qualified_us, version, base, per_unit,"
        " cap, next_us, next_version, next_base, next_per_unit, next_cap)"
        " values (%s, %s, true, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " on conflict (provider, type) do update set version = excluded.version, base = excluded.base,"
        " per_unit = excluded.per_unit, cap = excluded.cap, next_us = excluded.next_us,"
        " next_version = excluded.next_version, next_base = excluded.next_base,"
        " next_per_unit = excluded.next_per_unit, next_cap = excluded.next_cap",
        current.provider, current.type, qualification, qualified_us, current.version, current.base, current.per_unit,
        current.cap, *following,
    )  # fmt: skip


def set_offered(tx: Tx, provider: UUID, types: Sequence[JobType]) -> None:
    """Offer exactly these of the types that have prices."""
    tx.run(
        "update provider_offers set offered = (type = any(%s)) where provider = %s", [t.value for t in types], provider
    )


def set_bid(tx: Tx, provider: UUID, type_: JobType, bid_bps: int, until_us: int) -> bool:
    """Bid below the book until then; False if the type was never offered."""
    return bool(
        tx.run(
            "update provider_offers set bid_bps = %s, bid_until_us = %s where provider = %s and type = %s",
            bid_bps, until_us, provider, type_,
        )
    )  # fmt: skip


def set_qualification(tx: Tx, changed: Offer) -> None:
    tx.run(
        "update provider_offers set qualification = %s, qualifying_job = %s, qualified_us = %s, retry_us = %s,"
        " failed_in_row = %s where provider = %s and type = %s",
        changed.qualification, changed.qualifying_job, changed.qualified_us, changed.retry_us, changed.failed_in_row,
        changed.provider, changed.type,
    )  # fmt: skip


def waiting_to_qualify(tx: Tx, now_us: int, limit: int) -> list[tuple[UUID, JobType]]:
    """Who could begin a qualification now, longest waiting first."""
    rows = tx.rows(
        "select o.provider, o.type from provider_offers o join provider_market m on m.provider = o.provider"
        " where o.offered and o.qualification <> 'passed' and o.retry_us <= %s and m.available"
        " and m.alive_until_us > %s order by o.retry_us, o.provider limit %s",
        now_us, now_us, limit,
    )  # fmt: skip
    return [(row[0], JobType(row[1])) for row in rows]


def waiting_to_qualify_of(tx: Tx, providers: Collection[UUID], now_us: int, limit: int) -> list[tuple[UUID, JobType]]:
    """The same for some providers."""
    rows = tx.rows(
        "select o.provider, o.type from provider_offers o join provider_market m on m.provider = o.provider"
        " where o.provider = any(%s) and o.offered and o.qualification <> 'passed' and o.retry_us <= %s"
        " and m.available and m.alive_until_us > %s order by o.retry_us, o.provider limit %s",
        list(providers), now_us, now_us, limit,
    )  # fmt: skip
    return [(row[0], JobType(row[1])) for row in rows]


def types_of(tx: Tx, providers: Collection[UUID]) -> list[JobType]:
    """What any of these sells and is qualified for."""
    rows = tx.rows(
        "select distinct type from provider_offers where provider = any(%s) and selectable order by type",
        list(providers),
    )
    return [JobType(row[0]) for row in rows]


def _typed_offer(offer_: Offer) -> Offer:
    return Offer(
        offer_.provider, JobType(offer_.type), offer_.offered, Qualification(offer_.qualification),
        offer_.qualifying_job, offer_.qualified_us, offer_.retry_us, offer_.failed_in_row, offer_.version,
        offer_.bid_bps, offer_.bid_until_us,
    )  # fmt: skip
