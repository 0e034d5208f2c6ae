"""Being a provider: registration, prices, capabilities, heartbeats, slots, qualification.

Guarantees: one provider for each owner, whose record stays when it retires and comes back; a result key is
proven and never anybody else's; price books are only added to; no provider ever has more jobs than its capacity
and its tier allow, however many processes assign at once. Services take the transaction and never commit.
Locks: the provider's market row; see `records` for several.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from choir.bazaar.bonds import store as bond_store
from choir.bazaar.jobs.model import FREE, QUALIFY, JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import events, promises, record_rules, record_store, rules, store
from choir.bazaar.providers import listing as showing
from choir.bazaar.providers.listing import ListedProvider
from choir.bazaar.providers.model import (
    TIERS,
    AlreadyProvider,
    Book,
    Claims,
    Heartbeat,
    MarketRow,
    NotOffered,
    Offer,
    OnlineProvider,
    OutcomeRecord,
    OwnerNeeded,
    Provider,
    ProviderRetired,
    ProviderView,
    Qualification,
    Registration,
    ResultKeyTaken,
    UnknownProvider,
    provider_id,
)
from choir.bazaar.providers.qualifications import Qualifications
from choir.bazaar.providers.record_rules import TierNeed
from choir.bazaar.providers.record_store import Outcome
from choir.bazaar.providers.records import Added, Records
from choir.bazaar.providers.selection import Selection
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.agents import store as agent_store
from choir.identity.clusters.service import Clusters
from choir.identity.keys import store as key_store
from choir.identity.keys.nostr_keys import checked_public, npub
from choir.identity.model import Principal, Role, Scope
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

_NO_ID = UUID(int=0)
_EXCLUDED_MAX = 1_000  # that a selection can name; whoever is behind them is looked at one by one


class Providers:
    """The acts on providers; all inside the caller's transaction."""

    def __init__(
        self, clusters: Clusters, outbox: Outbox, clock: Clock, entropy: Entropy, policy: ProvidersPolicy
    ) -> None:
        self.records = Records(clusters, outbox, policy)
        self.selection = Selection(policy)
        self._qualifications = Qualifications(outbox, clock, policy)
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    # Registration

    def register(self, tx: Tx, by: Principal, asked: Registration) -> Provider:
        """Become a provider. One that retired comes back as it was, with its record."""
        by.must(Scope.SELL)
        owner = owner_of(by)
        claims = rules.checked_claims(asked.claims, self._policy)
        capacity = rules.checked_capacity(asked.capacity, self._policy)
        rules.check_key_proof(owner, checked_public(asked.result_key), asked.proof)
        now_us = self._clock.now_us()
        new = self._new(tx, owner, asked.result_key, claims, now_us)
        if store.insert(tx, new):
            self._enter(tx, new.id, claims, capacity)
        else:
            new = self._come_back(tx, owner, claims, capacity)
        self._use_key(tx, new.id, asked.result_key, now_us)
        self.records.rebuild(tx, new.id)
        events.changed(self._outbox, tx, "registered", new.id, by.source, owner=owner, key=asked.result_key.hex())
        return self.get(tx, new.id)

    def change_claims(self, tx: Tx, by: Principal, claims: Claims) -> None:
        """Say something else about oneself."""
        claims = rules.checked_claims(claims, self._policy)
        row = self._own(tx, by)
        self._set_claims(tx, row.provider, claims)
        events.changed(self._outbox, tx, "claims_changed", row.provider, by.source)

    def change_key(self, tx: Tx, by: Principal, result_key: bytes, proof: bytes) -> None:
        """Sign results with another key from now on; the old one stays on record as this provider's."""
        row = self._own(tx, by)
        rules.check_key_proof(owner_of(by), checked_public(result_key), proof)
        self._use_key(tx, row.provider, result_key, self._clock.now_us())
        events.changed(self._outbox, tx, "key_changed", row.provider, by.source, key=result_key.hex())

    def retire(self, tx: Tx, by: Principal) -> None:
        """Take no more jobs. What is at work may be finished; the record stays. Retiring twice changes nothing."""
        row = self._own(tx, by, retired=True)
        if row.retired:
            return
        store.set_retired(tx, row.provider, self._clock.now_us())
        events.changed(self._outbox, tx, "retired", row.provider, by.source)

    def forget(self, tx: Tx, owner: str) -> None:
        """Empty what an owner who is erased had written, and retire their provider, who is gone from now on."""
        found = store.of_owner(tx, owner)
        if found is not None:
            store.lock(tx, [found.id])
            store.set_claims(tx, found.id, None, None)
            store.unheard(tx, found.id)
            if found.retired_us is None:
                store.set_retired(tx, found.id, self._clock.now_us())
                events.changed(self._outbox, tx, "retired", found.id)

    # Looking

    def get(self, tx: Tx, provider: UUID) -> Provider:
        found = store.get(tx, provider)
        if found is None:
            raise UnknownProvider(provider=provider_id(provider))
        return found

    def of(self, tx: Tx, by: Principal) -> Provider:
        """The caller's own provider."""
        found = store.of_owner(tx, owner_of(by))
        if found is None:
            raise UnknownProvider(provider=f"of {by.source}")
        return found

    def of_owners(self, tx: Tx, owners: Collection[str]) -> list[Provider]:
        """The providers of these owners, retired ones too."""
        return store.of_owners(tx, owners)

    def named(self, tx: Tx, providers: Collection[UUID]) -> dict[UUID, Provider]:
        """These providers, those that there are."""
        return {found.id: found for found in store.by_ids(tx, providers)}

    def typical_us(self, tx: Tx, providers: Collection[UUID]) -> dict[UUID, int]:
        """From being asked to the verdict: the median of what passed lately; nothing where nothing did."""
        return record_store.typical_us(tx, providers, self._policy.typical_outcomes)

    def next_tier(self, tx: Tx, view: ProviderView) -> list[TierNeed]:
        """What the next tier asks for, against what is there; nothing at the highest."""
        tier = view.market.tier
        if tier == max(TIERS):
            return []
        there = (view.independent_jobs, view.market.success_bps, view.buyers)
        bond = bond_store.counted(tx, view.provider.id)
        return record_rules.tier_needs(tier + 1, *there, self._policy, bond)

    def keys(self, tx: Tx, provider: UUID) -> list[bytes]:
        """Every key that it ever signed with; none of them was or will be anybody else's."""
        return store.keys(tx, provider)

    def view(self, tx: Tx, provider: UUID) -> ProviderView:
        """All that anybody may see of a provider."""
        found, row = self.get(tx, provider), store.market(tx, provider)
        assert row is not None
        record = record_store.record(tx, provider)
        return ProviderView(
            found,
            row,
            tuple(store.offers(tx, provider, self._clock.now_us())),
            jobs=record.jobs,
            passed=record.passed,
            independent_jobs=record.tier_passed_weight,
            buyers=record.buyers,
            raw_volume=record.volume,
            organic_volume=record.organic,
        )

    def page(self, tx: Tx, *, after: UUID = _NO_ID, limit: int | None = None) -> list[Provider]:
        """Providers that are not retired, in order of id."""
        return store.page(tx, after, self._rows(limit))

    def online(self, tx: Tx, *, after: UUID = _NO_ID, limit: int | None = None) -> list[OnlineProvider]:
        """Providers that are there now, in order of id, with how much of what they offer is in use."""
        rows = store.online(tx, after, self._rows(limit))
        found = self.named(tx, [row.provider for row in rows])
        beat_us = self._policy.heartbeat_s * MICROSECONDS
        return [OnlineProvider(found[row.provider], row, row.alive_until_us - beat_us) for row in rows]

    def show(self, tx: Tx, *providers: Provider) -> list[ListedProvider]:
        """These providers with their prices, as anybody may see them."""
        return showing.show(tx, providers, self._clock.now_us())

    def outcomes(
        self, tx: Tx, provider: UUID, *, until_us: int = 2**62, skip: int = 0, limit: int | None = None
    ) -> list[Outcome]:
        """A page of what came of a provider's jobs, newest first; `skip` of those at its beginning were seen."""
        return record_store.latest(tx, provider, until_us, self._rows(limit), skip)

    # Prices

    def publish(self, tx: Tx, by: Principal, type_: JobType, terms: Terms, *, effective_us: int | None = None) -> Book:
        """A new version of the prices for a type. It takes the place of one that was waiting to take effect."""
        return self._publish(tx, self._own(tx, by), type_, terms, by.source, effective_us)

    def typical_price(self, tx: Tx, by: Principal, type_: JobType, terms: Terms) -> int:
        """What a typical job would cost by these prices, if the caller's own provider may ask them."""
        row = store.market(tx, self.of(tx, by).id)
        assert row is not None
        rules.check_terms(terms, type_, row.tier, self._policy)
        return rules.price(terms, rules.typical_units_milli(type_, self._policy))

    def book_at(self, tx: Tx, provider: UUID, type_: JobType, at_us: int) -> Book | None:
        """The version that held at a time; what was charged then stays explainable."""
        return store.book_at(tx, provider, type_, at_us)

    def books(
        self, tx: Tx, provider: UUID, type_: JobType, *, before: int = 2**31 - 1, limit: int | None = None
    ) -> list[Book]:
        """A page of versions, newest first."""
        return store.last_books(tx, provider, type_, before, self._rows(limit))

    def quote(self, tx: Tx, provider: UUID, type_: JobType, at_us: int) -> Terms:
        """What is charged at a time: the book in force, within what the provider's tier may ask now."""
        book, row = store.book_at(tx, provider, type_, at_us), store.market(tx, provider)
        if book is None or row is None:
            raise NotOffered(provider=provider_id(provider), type=type_.value, work=type_.word)
        offer = store.offer(tx, provider, type_, at_us)
        bid_bps = offer.bid_bps if offer is not None and at_us < offer.bid_until_us else 0
        return rules.charged_terms(rules.bid_terms(book.terms, bid_bps), type_, row.tier, self._policy)

    def bid(self, tx: Tx, by: Principal, type_: JobType, bid_bps: int, until_us: int) -> Offer:
        """Ask so much less than the book for new jobs of a type, until then; what is assigned keeps its price."""
        row, now_us = self._own(tx, by), self._clock.now_us()
        rules.check_bid(bid_bps, until_us, now_us, self._policy)
        return self._set_bid(tx, by, row, type_, bid_bps, until_us)

    def end_bid(self, tx: Tx, by: Principal, type_: JobType) -> Offer:
        """Ask the book's prices again. Ending twice changes nothing."""
        return self._set_bid(tx, by, self._own(tx, by), type_, 0, 0)

    def _set_bid(self, tx: Tx, by: Principal, row: MarketRow, type_: JobType, bid_bps: int, until_us: int) -> Offer:
        if not store.set_bid(tx, row.provider, type_, bid_bps, until_us):
            raise NotOffered(provider=provider_id(row.provider), type=type_.value, work=type_.word)
        promises.refresh(tx, [row.provider], self._policy)
        said = {"type": type_.value, "bid_bps": bid_bps, "until_us": until_us}
        events.changed(self._outbox, tx, "bid", row.provider, by.source, **said)
        tx.wake(FREE, row.provider)
        found = store.offer(tx, row.provider, type_, self._clock.now_us())
        assert found is not None
        return found

    # Capabilities, heartbeats, slots

    def declare(self, tx: Tx, by: Principal, types: Collection[JobType], capacity: int) -> list[Offer]:
        """Say which types are sold and how many jobs at once. A type without prices starts at the default table."""
        capacity = rules.checked_capacity(capacity, self._policy)
        row = self._own(tx, by)
        now_us = self._clock.now_us()
        slots = rules.slots(capacity, row.busy_elsewhere, row.tier, self._policy)
        store.set_capacity(tx, row.provider, capacity, slots)
        known = {offer.type for offer in store.offers(tx, row.provider, now_us)}
        for type_ in sorted(set(types) - known):
            self._publish(tx, row, type_, rules.default_terms(type_, self._policy), by.source, None)
        store.set_offered(tx, row.provider, sorted(set(types)))
        events.changed(
            self._outbox, tx, "capabilities", row.provider, by.source, types=sorted(set(types)), capacity=capacity
        )
        tx.wake(QUALIFY, row.provider)
        tx.wake(FREE, row.provider)
        return store.offers(tx, row.provider, now_us)

    def heartbeat(self, tx: Tx, by: Principal, beat: Heartbeat) -> MarketRow:
        """The provider is there. Not announced each time, only when it comes back.

        One that is retired may have work to finish, and says so in this way too; it gets nothing new.
        """
        version = rules.checked_version(beat.version, self._policy)
        row, now_us = self._own(tx, by, retired=True), self._clock.now_us()
        busy = rules.busy_elsewhere(beat, row)
        slots = rules.slots(row.capacity, busy, row.tier, self._policy)
        until_us = now_us + self._policy.heartbeat_s * MICROSECONDS
        store.heard(tx, row.provider, until_us, beat.healthy, busy, slots, version)
        if not row.is_alive(now_us):
            events.changed(self._outbox, tx, "online", row.provider, by.source)
        if not row.is_alive(now_us) or beat.healthy != row.healthy or slots > row.slots:
            tx.wake(QUALIFY, row.provider)
            tx.wake(FREE, row.provider)
        return replace(
            row, alive_until_us=until_us, healthy=beat.healthy, busy_elsewhere=busy, slots=slots, version=version
        )

    def drain(self, tx: Tx, by: Principal, on: bool) -> None:
        """Finish what is at work and take nothing new; or take work again."""
        row = self._own(tx, by)
        store.set_draining(tx, row.provider, on)
        tx.wake(FREE, row.provider)
        events.changed(self._outbox, tx, "draining" if on else "undrained", row.provider, by.source)

    def silence_round(self, tx: Tx) -> int:
        """Take those off the market who were not heard from, so that selections need not look at them."""
        found = store.silence(tx, self._clock.now_us(), self._policy.stale_rows_max)
        for provider in found:
            events.changed(self._outbox, tx, "silent", provider)
        return len(found)

    def excuse(self, tx: Tx) -> int:
        """The node itself was away and could hear nobody: whoever was there before has its usual time to be heard."""
        now_us = self._clock.now_us()
        return store.excuse(tx, now_us, now_us + self._policy.heartbeat_s * MICROSECONDS)

    def turn_back(self, tx: Tx, since_us: int, by_us: int) -> None:
        """The clock was at the one time and is so much earlier now."""
        store.turn_back(tx, since_us, by_us)

    def gone(self, tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
        """Of these, the ones that no longer answer."""
        return store.gone(tx, providers, now_us)

    def reserve(self, tx: Tx, provider: UUID, job: UUID) -> bool:
        """Take a slot for a job; False: there is none now. Taking it twice is taking it once.

        The row stays locked until the caller's transaction ends. Several are taken in order of id.
        """
        return store.reserve(tx, provider, job, self._clock.now_us())

    def release(self, tx: Tx, provider: UUID, job: UUID) -> bool:
        """Give a job's slot back; False: it had none, or had given it back before."""
        if not store.release(tx, provider, job):
            return False
        tx.wake(FREE, provider)
        tx.wake(QUALIFY, provider)
        return True

    def types_of(self, tx: Tx, providers: Collection[UUID]) -> list[JobType]:
        """The types that any of these can be selected for now."""
        return store.types_of(tx, providers)

    def any_free(self, tx: Tx, providers: Collection[UUID]) -> bool:
        """Whether one of these can take a job now."""
        return store.any_free(tx, providers, self._clock.now_us())

    # Qualification and outcomes

    def to_qualify(self, tx: Tx, limit: int, of: Collection[UUID] | None = None) -> list[tuple[UUID, JobType]]:
        """Providers that are there, offer a type, and could take its qualification job now; `of` these, or any."""
        now_us = self._clock.now_us()
        if of is not None:
            return store.waiting_to_qualify_of(tx, of, now_us, limit)
        return store.waiting_to_qualify(tx, now_us, limit)

    def begin_qualification(self, tx: Tx, provider: UUID, type_: JobType, job: UUID) -> None:
        """A qualification job was given to this provider; its outcome decides."""
        self._qualifications.begin(tx, provider, type_, job)

    def put_off_qualification(self, tx: Tx, provider: UUID, type_: JobType, job: UUID) -> None:
        """The node could not see it through: nothing is held against the provider, and it is asked again later."""
        self._qualifications.put_off(tx, provider, type_, job)

    def record_outcome(self, tx: Tx, provider: UUID, told: OutcomeRecord) -> bool:
        """Note what came of a try; False if it was noted before. The same try told differently is a correction."""
        if told.qualification:
            return self._qualifications.decide(tx, provider, told)
        added = self.records.add(tx, provider, told)
        if added is Added.NOTED_BEFORE:
            return False
        events.outcome(self._outbox, tx, provider, told)
        if added is Added.NEW:
            self._qualifications.count(tx, provider, told)
        return True

    # Who is independent of whom

    def in_clusters_of(self, tx: Tx, owners: Collection[str]) -> tuple[UUID, ...]:
        """Providers that are taken for one with any of these, as far as their records know."""
        keys = {self.records.told(tx, owner).key for owner in owners}
        return tuple(sorted({one for key in keys for one in store.in_cluster(tx, key)}))[:_EXCLUDED_MAX]

    def is_independent(self, tx: Tx, owner: str, of: Collection[str]) -> bool:
        """Whether an owner is independent of all of these."""
        least = self._policy.independent_bps_min
        return all(self.records.independence(tx, owner, one) >= least for one in of)

    def default_price(self, type_: JobType, units_milli: int) -> int:
        """What so many thousandths of a unit cost by the default table."""
        return rules.price(rules.default_terms(type_, self._policy), units_milli)

    # Inside

    def _publish(self, tx: Tx, row: MarketRow, type_: JobType, terms: Terms, actor: str, asked_us: int | None) -> Book:
        rules.check_terms(terms, type_, row.tier, self._policy)
        last = store.last_books(tx, row.provider, type_, 2**31 - 1, 1)
        now_us = max(self._clock.now_us(), last[0].published_us + 1 if last else 0)
        effective_us = rules.effective_us(asked_us, now_us, self._policy, first=not last)
        version = last[0].version + 1 if last else 1
        prices = (terms.base, terms.per_unit, terms.cap)
        book = Book(row.provider, type_, version, *prices, now_us, effective_us, actor)
        store.insert_book(tx, book)
        current = store.book_at(tx, row.provider, type_, now_us)
        assert current is not None
        first = rules.first_qualification(self._policy)
        since_us = now_us if first is Qualification.PASSED else None
        store.put_offer(tx, current, book if book.version != current.version else None, first, since_us)
        promises.refresh(tx, [row.provider], self._policy)
        events.book_published(self._outbox, tx, book)
        return book

    def _new(self, tx: Tx, owner: str, key: bytes, claims: Claims, now_us: int) -> Provider:
        random = self._entropy.bytes(8)
        id_ = uuid7(now_us, int.from_bytes(random[6:]), random[:6])
        cluster = self.records.told(tx, owner).key
        return Provider(id_, owner, cluster, key, claims.name, claims.model, now_us, None)

    def _enter(self, tx: Tx, provider: UUID, claims: Claims, capacity: int) -> None:
        slots = rules.slots(capacity, 0, 0, self._policy)
        region = claims.region
        store.insert_market(
            tx,
            provider,
            rules.shuffle_of(provider),
            region,
            rules.area_of(region),
            int(claims.isolation),
            capacity,
            slots,
        )

    def _come_back(self, tx: Tx, owner: str, claims: Claims, capacity: int) -> Provider:
        found = store.of_owner(tx, owner)
        assert found is not None
        (row,) = store.lock(tx, [found.id])
        if not row.retired:
            raise AlreadyProvider(owner=owner, provider=provider_id(found.id))
        store.set_retired(tx, found.id, None)
        self._set_claims(tx, found.id, claims)
        store.set_capacity(tx, found.id, capacity, rules.slots(capacity, row.busy_elsewhere, row.tier, self._policy))
        return found

    def _set_claims(self, tx: Tx, provider: UUID, claims: Claims) -> None:
        store.set_claims(tx, provider, claims.name, claims.model)
        store.set_market_claims(tx, provider, claims.region, rules.area_of(claims.region), int(claims.isolation))

    @staticmethod
    def _use_key(tx: Tx, provider: UUID, public: bytes, now_us: int) -> None:
        """A key of the provider's own: no account's, no other provider's, now or ever."""
        taken = key_store.owner_of(tx, public) is not None or agent_store.by_key(tx, public) is not None
        if taken or not store.set_key(tx, provider, public, now_us):
            raise ResultKeyTaken(key=npub(public))

    def _own(self, tx: Tx, by: Principal, *, retired: bool = False) -> MarketRow:
        """The caller's own provider, locked; a retired one only where that may be."""
        by.must(Scope.SELL)
        found = self.of(tx, by)
        (row,) = store.lock(tx, [found.id])
        if row.retired and not retired:
            raise ProviderRetired(provider=provider_id(found.id))
        return row

    def _rows(self, limit: int | None) -> int:
        most = self._policy.page_rows_max
        return most if limit is None else max(1, min(limit, most))


def owner_of(by: Principal) -> str:
    """Who a credential sells for: the person or the agent itself."""
    if by.role is Role.OPERATOR or not by.source.startswith(("person:", "agent:")):
        raise OwnerNeeded
    return by.source
