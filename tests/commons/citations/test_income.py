"""An author's months: citations at the rates of each month, through real entries; and what a ring gets out of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from choir.commons.citations.model import earning_line
from choir.foundation.clock import from_datetime
from choir.foundation.money import Asset
from choir.identity.model import Principal
from choir.storage.database import Database
from choir.treasury.policy import TreasuryPolicy
from tests.commons.desk import DAY_S
from tests.commons.library import USDC, Library
from tests.depth import DEEP

# Of the seed: so many citations in each month, at the price of CHIP that makes the rate 4.50, 4.75, 5.00, 5.10, 5.25.
MONTHS = ((3, 450_000), (8, 475_000), (12, 500_000), (7, 510_000), (5, 525_000))
EARNED = 173_450_000


def begin_month(library: Library, n: int) -> None:
    """The first of a month, long enough after the last that windows and prices have moved."""
    year, month = divmod(n, 12)
    target = from_datetime(datetime(2027 + year, month + 1, 1, 1, tzinfo=UTC))
    library.later((target - library.clock.now_us()) // 1_000_000)


@pytest.mark.scaled
def test_the_months_of_the_seed_come_to_the_cent(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path, treasury=TreasuryPolicy(price_start=MONTHS[0][1]))
    library.fund_pool(1_000 * USDC)
    ada = library.writer()
    cited = library.promote(ada)
    months = MONTHS if DEEP else ((2, 450_000), (1, 475_000))
    expected = sum(n * price * 10 for n, price in months)
    assert DEEP is (expected == EARNED)
    for n, (citations, price) in enumerate(months):
        if n:
            library.set_price(price)
        begin_month(library, 2 * n + 1)  # a price moves at most 10 % in 30 days, so not every month
        citing = [library.publish(library.reader(), cites=cited) for _ in range(citations)]
        library.later(DAY_S)
        rates = {item.rate for item in library.citations(cited)[:citations]}
        assert rates == {price * 10}
        assert {library.publication(item.id).state.value for item in citing} == {"promoted"}
    assert library.earned(ada) < expected
    library.later(31 * DAY_S)
    assert library.earned(ada) == expected
    with library.tx() as tx:
        page = library.commons.earnings.of(tx, ada.source, None, 10)
    [line] = [earning_line(item) for item in page.items]
    dollars = f"{expected // USDC}.{expected % USDC // 10_000:02d}"
    cited_by = sum(n for n, _ in months)
    assert line.startswith(f"You wrote 'On bridges, part 1'; {cited_by} articles cited it; you earned ${dollars}")


def test_the_same_with_the_cap_binding_gives_what_the_rule_says(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path)
    library.fund_pool(1_000 * USDC)
    ada = library.writer()
    cited = library.promote(ada)
    for usdc, paid in ((2 * USDC, 1 * USDC), (6 * USDC, 5 * USDC), (20 * USDC, 5 * USDC), (0, 0)):
        library.promote(library.reader(usdc), cites=cited)
        assert library.citations(cited)[0].amount == paid


@pytest.mark.scaled
def test_a_ring_that_nobody_sees_earns_less_than_it_spends(database: Database, tmp_path: Path) -> None:
    people, articles = (10, 10) if DEEP else (3, 2)
    library = Library(database, tmp_path)
    library.fund_pool(10_000 * USDC)
    ring = [library.person(chip=articles * 100 + 100) for _ in range(people)]
    vouch_for_all(library, ring)
    first = [library.promote(who) for who in ring]
    for n in range(1, articles):
        for i, who in enumerate(ring):
            library.publish(who, cites=first[(i + n) % people])
        library.later(DAY_S)
    library.later(31 * DAY_S)
    earned = sum(library.earned(who) for who in ring)
    fees = people * articles * 10 * 500_000  # the review fees, at the price of CHIP
    months = 1 + (articles + 31) // 28
    assert earned <= 2 * people * 2 * USDC * months
    assert earned <= fees


def vouch_for_all(library: Library, ring: list[Principal]) -> None:
    """The ring has got itself vouched for, by people that are taken for independent."""
    voucher = library.person()
    with library.tx() as tx:
        for who in ring:
            tx.run("insert into vouches (voucher, person, at_us) values (%s, %s, 0)", voucher.person, who.person)


def test_what_novelty_and_citations_owe_is_on_the_ledger(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path)
    library.fund_pool(100 * USDC)
    ada = library.writer()
    cited = library.promote(ada)
    library.promote(library.reader(), cites=cited)
    with library.tx() as tx:
        page = library.commons.earnings.of(tx, ada.source, None, 10)
    [item] = page.items
    assert item.citation_amount == library.vesting_of(ada, "citation", Asset.USDC)
    assert item.novelty_amount == library.vesting_of(ada, "novelty", Asset.CHIP)
