"""Price books: what may be asked, what holds when, and that history stays."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import rules
from choir.bazaar.providers.model import (
    BadClaim,
    BadEffectiveTime,
    Book,
    NotOffered,
    PriceAboveLimit,
)
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.clock import MICROSECONDS
from tests.bazaar.providers.stalls import PATCH, REVIEW, RUN, SAT, TEXT, Stalls, owner, principal, wants
from tests.depth import times

POLICY = ProvidersPolicy(bond_msat=0)  # what a bond changes is in test_bonds


@pytest.mark.parametrize(
    ("type_", "terms"),
    [
        (PATCH, Terms(3000 * SAT, 100 * SAT, 20_000 * SAT)),
        (REVIEW, Terms(2000 * SAT, 50 * SAT, 15_000 * SAT)),
        (RUN, Terms(200 * SAT, 500, 5000 * SAT)),
        (TEXT, Terms(0, 10 * SAT, 2000 * SAT)),
    ],
)
def test_the_default_table_is_the_specs(type_: JobType, terms: Terms) -> None:
    assert rules.default_terms(type_, POLICY) == terms


@pytest.mark.parametrize(("tier", "most"), [(0, 3000), (1, 3000), (2, 3300), (3, 3600)])
def test_premiums_are_relative_to_the_default_table_and_exact(tier: int, most: int) -> None:
    default = rules.default_terms(PATCH, POLICY)
    rules.check_terms(Terms(most * SAT, default.per_unit, default.cap), PATCH, tier, POLICY)
    with pytest.raises(PriceAboveLimit) as refusal:
        rules.check_terms(Terms(most * SAT + 1, default.per_unit, default.cap), PATCH, tier, POLICY)
    assert (refusal.value.fields["asked"], refusal.value.fields["limit"]) == (most * SAT + 1, most * SAT)
    assert f"The base price of {most}.001 SAT is above {most}.000 SAT" in str(refusal.value)


@given(tier=st.integers(0, 3), units=st.integers(0, 10**6), type_=st.sampled_from(JobType))
def test_whatever_a_book_says_a_price_is_within_the_premium(tier: int, units: int, type_: JobType) -> None:
    greedy = Terms(10**12, 10**9, 10**12)
    default = rules.price(rules.default_terms(type_, POLICY), units)
    charged = rules.price(rules.charged_terms(greedy, type_, tier, POLICY), units)
    assert default <= charged <= default * (10_000 + rules.premium_bps(tier, POLICY)) // 10_000 + 1


@pytest.mark.parametrize(
    ("units_milli", "price"), [(0, 200_000), (1, 200_000), (2, 200_001), (1000, 200_500), (10**9, 5_000_000)]
)
def test_a_price_is_base_and_units_and_never_above_the_cap(units_milli: int, price: int) -> None:
    assert rules.price(rules.default_terms(RUN, POLICY), units_milli) == price


def test_a_type_that_is_declared_without_prices_starts_at_the_default_table(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN, PATCH)
    with stalls.tx() as tx:
        assert stalls.providers.quote(tx, made.id, PATCH, stalls.clock.now_us()) == rules.default_terms(PATCH, POLICY)
        with pytest.raises(NotOffered):
            stalls.providers.quote(tx, made.id, REVIEW, stalls.clock.now_us())
        offers = stalls.providers.declare(tx, principal(owner(1)), [PATCH], 5)
    assert {offer.type: offer.offered for offer in offers} == {RUN: False, PATCH: True}
    assert stalls.ids(wants(RUN)) == []
    assert stalls.ids(wants(PATCH)) == [made.id]


def test_versions_are_kept_and_each_moment_has_its_own(stalls: Stalls) -> None:
    made, who = stalls.stall(1, RUN), principal(owner(1))
    start_us = stalls.clock.now_us()
    with stalls.tx() as tx:
        publish = stalls.providers.publish
        later = start_us + 100 * MICROSECONDS
        second = publish(tx, who, RUN, Terms(100, 1, 1000), effective_us=later)
        stalls.clock.advance(50)
        now = stalls.providers.quote(tx, made.id, RUN, stalls.clock.now_us())
        assert now == rules.default_terms(RUN, POLICY)
        assert stalls.providers.book_at(tx, made.id, RUN, later) == second
        third = publish(tx, who, RUN, Terms(90, 1, 1000), effective_us=later + 10)  # takes the waiting one's place
        assert stalls.providers.quote(tx, made.id, RUN, later).base == 200_000
        assert stalls.providers.book_at(tx, made.id, RUN, later + 10) == third
        assert [book.version for book in stalls.providers.books(tx, made.id, RUN)] == [3, 2, 1]
    assert stalls.select(wants()).ranked[0].candidate.version == 1
    stalls.clock.advance(51)
    stalls.beat(1)
    chosen = stalls.select(wants()).ranked[0]
    assert (chosen.candidate.version, chosen.price) == (3, 90)


def test_history_cannot_be_changed_by_anybody(stalls: Stalls, superuser_dsn: str) -> None:
    stalls.stall(1, RUN)
    for sql in ("update price_books set base = 1", "delete from price_books", "truncate price_books"):
        with psycopg.connect(superuser_dsn) as root, pytest.raises(psycopg.errors.RestrictViolation):
            root.execute(sql)
    with stalls.tx() as tx, pytest.raises(psycopg.errors.InsufficientPrivilege), tx.savepoint():
        tx.run("update price_books set base = 1")


def test_times_behind_or_too_far_ahead_are_refused(stalls: Stalls) -> None:
    stalls.stall(1, RUN)
    now_us = stalls.clock.now_us()
    for at_us in (now_us - 1, now_us + 91 * 86_400 * MICROSECONDS):
        with pytest.raises(BadEffectiveTime), stalls.tx() as tx:
            stalls.providers.publish(tx, principal(owner(1)), RUN, Terms(1, 1, 1), effective_us=at_us)
    for terms in (Terms(-1, 0, 0), Terms(0, -1, 0), Terms(0, 0, -1)):
        with pytest.raises(BadClaim), stalls.tx() as tx:
            stalls.providers.publish(tx, principal(owner(1)), RUN, terms)


def test_a_provider_that_falls_keeps_its_book_but_not_the_premium(stalls: Stalls) -> None:
    made = stalls.stall(1, RUN)
    with stalls.tx() as tx:
        tx.run("update provider_market set tier = 3")
        stalls.providers.publish(tx, principal(owner(1)), RUN, Terms(240 * SAT, 600, 6000 * SAT))
        assert stalls.providers.quote(tx, made.id, RUN, stalls.clock.now_us() + 1).base == 240 * SAT
    assert stalls.select(wants()).ranked[0].price == 240 * SAT
    with stalls.tx() as tx:
        tx.run("update provider_market set tier = 2")
    assert stalls.select(wants()).ranked[0].price == 220 * SAT
    stalls.rebuild(made.id)
    assert stalls.select(wants()).ranked[0].price == 200 * SAT


def book_in_force(books: list[Book], at_us: int) -> Book | None:
    """Of all versions, in order, the one that holds at a time: a later one takes the place of a waiting one."""
    found = None
    for n, book in enumerate(books):
        superseded = n + 1 < len(books) and books[n + 1].published_us < book.effective_us
        if book.effective_us <= at_us and not superseded:
            found = book
    return found


books = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), min_size=1, max_size=8)


@settings(max_examples=times(10, 30))
@given(waits=books)
def test_the_book_in_force_is_the_same_by_rule_and_by_query(stalls: Stalls, waits: list[tuple[int, int]]) -> None:
    """Also for what a selection sees."""
    with stalls.tx() as tx:
        n = 1 + tx.value("select count(*) from providers")
    made = stalls.stall(n, RUN)
    first_us = stalls.clock.now_us()
    with stalls.tx() as tx:
        for number, (pause, ahead) in enumerate(waits):
            stalls.clock.at_us += pause
            at_us = stalls.clock.now_us() + ahead + len(waits)
            terms = Terms(number, 0, 1000)
            stalls.providers.publish(tx, principal(owner(n)), RUN, terms, effective_us=at_us)
        every: list[Book] = stalls.providers.books(tx, made.id, RUN)[::-1]
        for at_us in range(first_us, first_us + 300, 7):
            expected = book_in_force(every, at_us)
            assert stalls.providers.book_at(tx, made.id, RUN, at_us) == expected
    for _ in range(5):
        stalls.clock.at_us += 17
        expected = book_in_force(every, stalls.clock.now_us())
        assert expected is not None
        seen = stalls.select(wants(providers=(made.id,))).ranked[0].candidate
        assert (seen.version, seen.terms) == (expected.version, expected.terms)


def test_the_first_book_of_a_type_takes_effect_at_once(stalls: Stalls) -> None:
    made = stalls.register(1)
    later_us = stalls.clock.now_us() + MICROSECONDS
    with stalls.tx() as tx:
        with pytest.raises(BadEffectiveTime):
            stalls.providers.publish(tx, principal(owner(1)), RUN, Terms(1, 1, 1), effective_us=later_us)
        stalls.providers.publish(tx, principal(owner(1)), RUN, Terms(1, 1, 1))
        assert stalls.providers.quote(tx, made.id, RUN, stalls.clock.now_us()) == Terms(1, 1, 1)
