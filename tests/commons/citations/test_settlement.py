"""Citations from promotion to vesting: paid once, to others only, within the cap, and taken back for cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from choir.commons.bundles.verification import verify_bundle
from choir.commons.challenges.model import Challenge, Ground
from choir.commons.citations.model import CitationState, CitedAlready, CitesItself, NotCitable, NotSaid
from choir.commons.citations.policy import CitationsPolicy
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import Publication, PublicationState, publication_id
from choir.foundation.money import Asset
from choir.ledger import queries
from choir.ledger.model import Draft, Leg
from choir.storage.database import Database
from choir.treasury.accounts import OPERATIONS
from tests.commons.desk import DAY_S
from tests.commons.library import SAID, USDC, Library

RATE = 5 * USDC  # of the defaults: 5 million CHIP at $0.50, and the floor of citations


@pytest.fixture
def library(database: Database, tmp_path: Path) -> Library:
    made = Library(database, tmp_path)
    made.fund_pool(1_000 * USDC)
    return made


def test_a_citation_pays_when_the_citing_article_is_promoted_and_vests(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    citing = library.publish(ben, cites=cited)
    assert library.citations(cited) == []  # not before it is promoted
    library.later(DAY_S)
    [found] = library.citations(cited)
    assert (found.citing, found.cited, found.rate, found.amount) == (citing.id, cited.id, RATE, RATE)
    assert found.independence_ppm == 1_000_000
    assert library.earned(ada) == 0
    assert library.vesting_of(ada, "citation", Asset.USDC) == RATE
    library.later(15 * DAY_S)
    assert library.earned(ada) == RATE // 2
    library.later(15 * DAY_S)
    assert library.earned(ada) == RATE
    assert library.vesting_of(ada, "citation", Asset.USDC) == 0


def test_a_pair_is_paid_once_whatever_is_delivered_twice(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    citing = library.promote(ben, cites=cited)
    for _ in range(2):
        library.write(lambda tx: library.commons.citations.settle(tx, citing))
    assert len(library.citations(cited)) == 1
    assert library.vesting_of(ada, "citation", Asset.USDC) == RATE


def test_nobody_is_paid_for_citing_themselves(library: Library) -> None:
    ada = library.reader()
    cited = library.promote(ada)
    library.promote(ada, cites=cited)
    [found] = library.citations(cited)
    assert (found.amount, found.independence_ppm, found.state) == (0, 0, CitationState.UNPAID)
    assert "one identity" in found.reasons[0]
    assert library.vesting_of(ada, "citation", Asset.USDC) == 0


def test_without_vouch_or_spend_nothing_is_triggered(library: Library) -> None:
    ada, ben = library.writer(), library.reader(usdc=0)
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    [found] = library.citations(cited)
    assert (found.asked, found.amount) == (RATE, 0)
    assert "allowance" in found.reasons[0]


def test_a_cap_that_binds_scales_and_the_excess_is_not_owed(library: Library) -> None:
    ada, ben = library.writer(), library.reader(usdc=4 * USDC)  # half of it, and no more: not enough to count as paid
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    [found] = library.citations(cited)
    assert (found.asked, found.amount) == (RATE, 2 * USDC)
    other = library.promote(library.writer())
    library.promote(ben, cites=other)
    [beyond] = library.citations(other)
    assert beyond.amount == 0
    with library.tx() as tx:
        assert library.payouts.report(tx).owed == 0


def test_own_vested_income_raises_the_allowance(library: Library) -> None:
    ada, ben, cem = library.writer(), library.writer(), library.reader()
    first = library.promote(ada)
    library.promote(cem, cites=first)
    library.later(5 * DAY_S)
    with library.tx() as tx:
        month = library.rates.of(tx, library.clock.now_us()).month
        allowance = library.commons.citations.allowance(tx, ada.source, month)
    assert allowance.income == library.earned(ada) > 0
    assert allowance.total == allowance.income // 2
    del ben


def test_what_the_pool_lacks_is_owed_and_paid_first(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path)
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    assert library.vesting_of(ada, "citation", Asset.USDC) == 0
    with library.tx() as tx:
        assert library.payouts.report(tx).owed == RATE
    library.fund_pool(100 * USDC)
    library.tend()
    assert library.vesting_of(ada, "citation", Asset.USDC) == RATE


def contradict(library: Library, publication: Publication) -> Challenge:
    """Somebody challenges an article's first binding, on a ground for which it is retracted; people decide."""
    eve = library.person(chip=500)
    against = library.source(eve, "Nothing of the kind was seen on any bridge.", "Another survey")
    pointer = f"{against.hash}@0-30"
    challenge = library.challenge(eve, library.bindings(publication)[0].hash, Ground.CONTRADICTED, (pointer,))
    library.judge(challenge)
    library.react()
    return challenge


@pytest.mark.parametrize("falls", ["cited", "citing"])
def test_a_retraction_for_cause_takes_back_what_has_not_vested(library: Library, falls: str) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    citing = library.promote(ben, cites=cited)
    library.later(10 * DAY_S)
    vested = library.earned(ada)
    assert 0 < vested < RATE
    library.rule(contradict(library, cited if falls == "cited" else citing), upheld=True)
    library.tend()
    assert library.citations(cited)[0].state is CitationState.TAKEN_BACK
    assert library.vesting_of(ada, "citation", Asset.USDC) == 0
    library.later(30 * DAY_S)
    assert library.earned(ada) == vested


def test_who_loses_a_challenge_keeps_nothing_of_its_time(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    challenge = contradict(library, cited)
    vested = library.earned(ada)
    library.later(20 * DAY_S)
    library.rule(challenge, upheld=True)
    library.tend()
    assert library.publication(cited.id).state is PublicationState.RETRACTED
    assert library.earned(ada) == vested
    assert library.vesting_of(ada, "citation", Asset.USDC) == 0


def test_retracting_before_a_challenge_is_won_saves_nothing(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    library.write(lambda tx: library.commons.publications.retract(tx, ada, cited.article, "in time"))
    library.react()
    library.rule(contradict(library, cited), upheld=True)
    library.tend()
    [found] = library.citations(cited)
    assert found.state is CitationState.TAKEN_BACK
    library.later(31 * DAY_S)
    assert library.earned(ada) < RATE


def test_what_the_treasury_paid_back_is_no_spend(library: Library) -> None:
    ada = library.reader(20 * USDC)
    name = f"{ada.source}/available/USDC"
    with library.tx() as tx:
        library.node.ledger.post(tx, Draft("refund", "a test", "test", "refund", (Leg(OPERATIONS, name, 15 * USDC),)))
        month = library.rates.of(tx, library.clock.now_us()).month
        assert library.commons.citations.allowance(tx, ada.source, month).spent == 5 * USDC


def test_taking_an_article_back_by_oneself_leaves_what_others_earned(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    citing = library.promote(ben, cites=cited)
    library.write(lambda tx: library.commons.publications.retract(tx, ben, citing.article, "I was wrong"))
    library.later(31 * DAY_S)
    assert library.earned(ada) == RATE


def test_an_open_challenge_freezes_vesting(library: Library) -> None:
    ada, ben, eve = library.writer(), library.reader(), library.person(chip=500)
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    challenge = library.challenge(eve, library.bindings(cited)[0].hash, Ground.MISLEADING)
    library.judge(challenge)
    library.react()
    library.later(20 * DAY_S)
    assert library.earned(ada) == 0
    library.rule(challenge, upheld=False)
    library.react()
    library.later(DAY_S)
    assert library.earned(ada) > 0


def test_vested_income_adds_credit(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path, citations=CitationsPolicy(bonus_every=2 * USDC, bonus_credit=10_000))
    library.fund_pool(1_000 * USDC)
    ada, ben = library.writer(), library.reader()
    library.promote(ben, cites=library.promote(ada))
    library.later(31 * DAY_S)
    assert library.earned(ada) == RATE
    assert library.balance(f"{ada.source}/available/CREDIT") == 20_000  # twice in five dollars


def test_three_independent_citations_halve_the_vesting_of_novelty(library: Library) -> None:
    words = (Path(__file__).parents[1] / "novelty" / "texts" / "clocks" / "original.txt").read_text()
    cited = library.promote(library.writer(), words=f"{words}\n\n{SAID}")
    for days in (90, 90, 45):
        library.promote(library.reader(), cites=cited)
        with library.tx() as tx:
            [grant] = library.vesting.by_subject(tx, publication_id(cited.id))
        assert grant.days == days


def test_only_what_is_promoted_and_said_is_cited(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    waiting = library.publish(ada)
    mine = library.write_article(ben)
    with pytest.raises(NotCitable):
        library.write(lambda tx: library.commons.citing.cite(tx, ben, mine.id, waiting.article, "Something", SAID))
    library.later(DAY_S)
    with pytest.raises(NotSaid):
        library.write(
            lambda tx: library.commons.citing.cite(tx, ben, mine.id, waiting.article, "Something", "It never said so.")
        )


def test_money_is_conserved(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    library.promote(ben, cites=cited)
    library.later(40 * DAY_S)
    with library.tx() as tx:
        sums: dict[str, int] = {}
        for line in queries.trial_balance(tx):
            sums[line.asset] = sums.get(line.asset, 0) + line.balance
    assert set(sums.values()) == {0}


def test_the_bundle_of_a_citing_article_is_verified_offline(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    citing = library.promote(ben, cites=library.promote(ada))
    with library.tx() as tx:
        data = library.commons.bundles.export(tx, ben, citing.article, None)
    report = verify_bundle(data, library.commons.referee, CommonsPolicy(), None)
    assert report.passed, report.checks
    assert any("1 cited article with the text alone" in str(item) for item in report.checks)


def test_an_article_cites_neither_itself_nor_the_same_words_twice(library: Library) -> None:
    ada, ben = library.writer(), library.reader()
    cited = library.promote(ada)
    mine = library.write_article(ben, cites=cited)
    citing = library.commons.citing
    with pytest.raises(CitedAlready):
        library.write(lambda tx: citing.cite(tx, ben, mine.id, cited.article, "Again", SAID))
    with pytest.raises(CitesItself):
        library.write(lambda tx: citing.cite(tx, ada, cited.article, cited.article, "Again", SAID))
