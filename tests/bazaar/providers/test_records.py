"""Records on a real database: counted once, corrected, rebuilt, and not to be had by trading with oneself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import record_rules, record_store
from choir.bazaar.providers.model import OutcomeRecord, ProviderView, UnknownProvider
from choir.foundation.errors import Invalid
from choir.storage.database import Database, Tx
from tests.bazaar.providers.stalls import RUN, TEXT, Stalls, owner
from tests.depth import times

# Small numbers, so that tiers are reached in a test.
SMALL = ProvidersPolicy(
    bond_msat=0,
    tier_1_jobs=6,
    tier_1_buyers=3,
    tier_2_jobs=12,
    tier_2_buyers=4,
    tier_3_jobs=20,
    tier_3_buyers=5,
    newcomer_jobs=3,
)


@pytest.fixture
def small(database: Database) -> Stalls:
    return Stalls(database, SMALL)


def view(stalls: Stalls, provider: UUID) -> ProviderView:
    with stalls.tx() as tx:
        return stalls.providers.view(tx, provider)


def test_an_outcome_counts_once(stalls: Stalls) -> None:
    made = stalls.stall(1)
    told = stalls.outcome(made.id, owner(50))
    with stalls.tx() as tx:
        assert not stalls.providers.record_outcome(tx, made.id, told)
        assert not stalls.providers.record_outcome(tx, made.id, replace(told, at_us=told.at_us + 5))
        assert [one.job for one in stalls.providers.outcomes(tx, made.id)] == [told.job]
    seen = view(stalls, made.id)
    assert (seen.jobs, seen.passed, seen.raw_volume, seen.organic_volume) == (1, 1, 200_000, 200_000)
    stalls.outcome(made.id, owner(50), passed=False, job=told.job, attempt=2)
    assert view(stalls, made.id).market.success_bps == 5000


def test_a_ruling_takes_the_place_of_what_was_noted(stalls: Stalls) -> None:
    made = stalls.stall(1)
    told = stalls.outcome(made.id, owner(50))
    with stalls.tx() as tx:
        assert stalls.providers.record_outcome(tx, made.id, replace(told, passed=False, price=0, reason="ruling"))
    seen = view(stalls, made.id)
    assert (seen.jobs, seen.passed, seen.raw_volume, seen.market.success_bps) == (1, 0, 0, 0)
    assert not stalls.rebuild(made.id)


def test_odd_outcomes_are_refused(stalls: Stalls) -> None:
    made = stalls.stall(1)
    told = stalls.outcome(made.id, owner(50))
    for odd in (
        replace(told, price=-1),
        replace(told, latency_us=-1),
        replace(told, independence_bps=10_001),
        replace(told, attempt=0),
        replace(told, buyer="person:x"),
    ):
        with pytest.raises(Invalid), stalls.tx() as tx:
            stalls.providers.record_outcome(tx, made.id, odd)
    with pytest.raises(UnknownProvider), stalls.tx() as tx:
        stalls.providers.record_outcome(tx, UUID(int=99), told)


def test_tiers_rise_and_fall_with_the_record_and_slots_with_them(small: Stalls) -> None:
    made = small.stall(1, capacity=100)
    for n in range(6):
        assert view(small, made.id).market.tier == 0
        small.outcome(made.id, owner(50 + n % 3))
    risen = view(small, made.id)
    assert (risen.market.tier, risen.market.slots, risen.buyers, risen.market.newcomer) == (1, 10, 3, False)
    small.outcome(made.id, owner(60), passed=False)
    fallen = view(small, made.id)
    assert (fallen.market.tier, fallen.market.slots, fallen.market.success_bps) == (0, 5, 8571)
    told = [event.data for event in small.events() if event.type == "bazaar.provider.tier_changed"]
    assert told == [{"before": 0, "after": 1}, {"before": 1, "after": 0}]


def test_texts_raise_no_tier(small: Stalls) -> None:
    made = small.stall(1, TEXT)
    for n in range(30):
        small.outcome(made.id, owner(50 + n % 6), type_=TEXT)
    seen = view(small, made.id).market
    assert (seen.tier, seen.success_bps) == (0, None)
    assert seen.reputation_bps > 0


def test_wash_trading_inside_a_cluster_raises_neither_tier_nor_reputation(small: Stalls) -> None:
    made = small.stall(1)
    crowd = [owner(100 + n) for n in range(8)]
    for one in crowd:
        small.join(owner(1), one)
    for n in range(40):
        small.outcome(made.id, crowd[n % 8], price=10**6)
    small.outcome(made.id, owner(1), price=10**6)
    seen = view(small, made.id)
    assert (seen.market.tier, seen.market.reputation_bps, seen.buyers, seen.organic_volume) == (0, 0, 0, 0)
    assert seen.market.success_bps is None
    assert seen.market.newcomer
    assert (seen.jobs, seen.raw_volume) == (41, 41 * 10**6)


def test_many_accounts_of_one_buyer_are_one_buyer(small: Stalls) -> None:
    made = small.stall(1)
    crowd = [owner(100 + n) for n in range(8)]
    for one in crowd[1:]:
        small.join(crowd[0], one)
    for n in range(40):
        small.outcome(made.id, crowd[n % 8])
    seen = view(small, made.id)
    assert (seen.buyers, seen.market.tier) == (1, 0)
    assert seen.market.reputation_bps == 5 * 10_000 // 25


def test_when_accounts_turn_out_to_be_one_a_rebuild_corrects_the_record(small: Stalls) -> None:
    made = small.stall(1)
    crowd = [owner(100 + n) for n in range(5)]
    for n in range(20):
        small.outcome(made.id, crowd[n % 5])
    assert view(small, made.id).market.tier == 3
    small.join(crowd[0], crowd[1])
    assert small.rebuild(made.id)
    assert (view(small, made.id).buyers, view(small, made.id).market.tier) == (4, 2)
    for one in crowd:
        small.join(owner(1), one)
    with small.tx() as tx:
        after, changed = small.providers.records.rebuild_round(tx, UUID(int=0), 10)
    assert (after, changed) == (None, 1)
    seen = view(small, made.id)
    assert (seen.market.tier, seen.market.reputation_bps, seen.organic_volume) == (0, 0, 0)
    assert not small.rebuild(made.id)


def test_a_joined_account_is_noticed_with_its_next_job(small: Stalls) -> None:
    made = small.stall(1)
    for n in range(20):
        small.outcome(made.id, owner(100 + n % 5))
    small.join(owner(1), owner(100))
    small.outcome(made.id, owner(101))
    assert (view(small, made.id).buyers, view(small, made.id).market.tier) == (4, 2)
    small.join(owner(101), owner(102))
    small.outcome(made.id, owner(102))
    assert view(small, made.id).buyers == 3
    assert not small.rebuild(made.id)


def test_two_who_buy_from_each_other_gain_nothing(small: Stalls) -> None:
    a, b = small.stall(1), small.stall(2)
    for _ in range(10):
        small.outcome(a.id, owner(2), price=1000)
        small.outcome(b.id, owner(1), price=1000)
    for one in (a, b):
        seen = view(small, one.id)
        assert (seen.market.reputation_bps, seen.organic_volume, seen.buyers) == (0, 0, 0)
        assert seen.raw_volume == 10_000
        assert not small.rebuild(one.id)
    small.outcome(a.id, owner(2), price=10_000)
    assert view(small, a.id).organic_volume == 10_000
    assert view(small, b.id).organic_volume == 0


def test_a_buyer_who_becomes_a_provider_later_does_not_get_around_it(small: Stalls) -> None:
    a = small.stall(1)
    for _ in range(10):
        small.outcome(a.id, owner(2), price=1000)
    b = small.stall(2)
    for _ in range(10):
        small.outcome(b.id, owner(1), price=1000)
    for one in (a, b):
        assert view(small, one.id).organic_volume == 0
        assert not small.rebuild(one.id)


def test_the_nodes_own_jobs_count_as_an_independent_buyers(stalls: Stalls) -> None:
    made = stalls.stall(1)
    stalls.outcome(made.id, "treasury:main", passed=False, price=0)
    assert view(stalls, made.id).market.success_bps == 0


def test_who_calls_may_let_a_job_count_for_less(stalls: Stalls) -> None:
    made = stalls.stall(1)
    told = stalls.outcome(made.id, owner(50))
    with stalls.tx() as tx:
        stalls.providers.record_outcome(tx, made.id, replace(told, independence_bps=0))
    assert view(stalls, made.id).independent_jobs == 0
    assert not stalls.rebuild(made.id)


acts = st.lists(
    st.tuples(
        st.sampled_from(["outcome", "outcome", "outcome", "correct", "join"]),
        st.integers(0, 3),  # provider
        st.integers(0, 7),  # buyer: the first four are the providers' owners
        st.booleans(),
        st.integers(0, 3),
        st.sampled_from([JobType.SANDBOX_RUN, JobType.TEXT_GEN]),
    ),
    max_size=25,
)


@settings(max_examples=times(8, 25))
@given(acts=acts)
def test_sums_are_what_the_outcomes_give_from_scratch(database: Database, acts: list[tuple[object, ...]]) -> None:
    """Whatever happens in whatever order; after clusters changed, once all are rebuilt."""
    stalls = Stalls(database, SMALL)
    with stalls.tx() as tx:
        base = 1000 * (1 + tx.value("select count(*) from providers"))
        stalls.jobs = base * 1000
    stalls.clock.at_us += base  # ids of another example must not come again
    providers = [stalls.register(base + n).id for n in range(4)]
    names, joined = [owner(base + n) for n in range(8)], False
    told: list[tuple[UUID, OutcomeRecord]] = []
    for what, p, b, passed, price, type_ in acts:
        assert isinstance(p, int)
        assert isinstance(b, int)
        assert isinstance(price, int)
        assert isinstance(type_, JobType)
        if what == "join":
            stalls.join(names[p], names[b])
            joined = joined or p != b
        elif what == "correct" and told:
            provider, before = told[b % len(told)]
            with stalls.tx() as tx:
                stalls.providers.record_outcome(tx, provider, replace(before, passed=bool(passed), price=price))
        else:
            told.append(
                (providers[p], stalls.outcome(providers[p], names[b], passed=bool(passed), price=price, type_=type_))
            )
    if joined:
        for provider in providers:
            stalls.rebuild(provider)
    with stalls.tx() as tx:
        for n, provider in enumerate(providers):
            assert record_store.all_sums(tx, provider) == scratch(stalls, tx, provider, names[n])
            record = record_rules.total(record_store.all_sums(tx, provider).values(), SMALL)
            assert record_store.record(tx, provider) == record
            row, standing = stalls.providers.view(tx, provider).market, record_rules.standing(record, SMALL)
            assert (row.tier, row.success_bps, row.reputation_bps, row.newcomer) == (
                standing.tier, standing.success_bps, standing.reputation_bps, standing.newcomer,
            )  # fmt: skip
            assert not stalls.providers.records.rebuild(tx, provider)


def scratch(stalls: Stalls, tx: Tx, provider: UUID, name: str) -> dict[str, record_rules.BuyerSums]:
    """The same in the plainest way: all outcomes, and the clusters as they are."""

    def key(one: str) -> str:
        return min(stalls.clusters.cluster_of(tx, one).members)

    rows = tx.rows(
        "select o.provider, p.owner, o.buyer, o.type, o.passed, o.price from provider_outcomes o"
        " join providers p on p.id = o.provider"
    )
    found: list[record_rules.Fact] = []
    returned: dict[str, int] = {}
    for seller, seller_owner, buyer, type_, passed, price in rows:
        if seller == provider:
            independence = 0 if key(buyer) == key(name) else 10_000
            found.append(record_rules.Fact(key(buyer), JobType(type_), passed, price, independence))
        if key(buyer) == key(name) and key(seller_owner) != key(name):
            returned[key(seller_owner)] = returned.get(key(seller_owner), 0) + price
    return record_rules.summed(found, returned)


def test_outcomes_from_all_sides_at_once_are_all_counted(small: Stalls) -> None:
    """Two who buy from each other lock both rows, in whatever order they come."""
    made = [small.stall(n) for n in (1, 2)]
    jobs = [[small.new_job() for _ in range(40)] for _ in range(2)]

    def work(n: int) -> None:
        for job in jobs[n % 2][n // 2 :: 4]:
            small.outcome(made[n % 2].id, owner(2 - n % 2), price=1000, job=job)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for one in made:
        assert (view(small, one.id).jobs, view(small, one.id).organic_volume) == (40, 0)
        assert not small.rebuild(one.id)


def test_types_that_were_failed_again_and_again_are_qualified_for_anew(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN, TEXT)
    for _ in range(4):
        stalls.outcome(made.id, owner(50), passed=False)
    stalls.outcome(made.id, owner(50))
    for _ in range(5):
        assert {offer.type for offer in view(stalls, made.id).offers if offer.selectable} == {RUN, TEXT}
        stalls.outcome(made.id, owner(50), passed=False)
    assert [offer.type for offer in view(stalls, made.id).offers if offer.selectable] == [TEXT]
