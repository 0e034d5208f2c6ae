"""Search and the feed: only what is promoted, in an order that explains itself and that no stake moves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from choir.commons.publication.model import Publication
from choir.commons.revisions.service import Revisions
from choir.commons.search.model import Candidate, Found
from choir.foundation.errors import Invalid
from choir.identity.model import Principal
from choir.storage.database import Database
from tests.commons.desk import DAY_S
from tests.commons.library import USDC, Library

OWLS = "Owls hunt by hearing in the dark, and their feathers make hardly any sound when they fly over a field."
BREAD = "Bread rises because yeast eats sugar and breathes out gas, which the dough holds in bubbles while it bakes."


@pytest.fixture
def library(database: Database, tmp_path: Path) -> Library:
    return Library(database, tmp_path)


def find(library: Library, query: str, **more: object) -> Found:
    with library.tx() as tx:
        return library.commons.search.find(tx, query, **more)  # type: ignore[arg-type]


def order(found: Found) -> list[object]:
    return [item.candidate.article for item in found.results]


def test_words_and_sense_find_what_is_promoted(library: Library) -> None:
    owls = library.promote(library.writer(), more=OWLS)
    bread = library.promote(library.writer(), more=BREAD)
    waiting = library.publish(library.writer(), more=f"{OWLS} They also nest in barns.")
    found = find(library, "how owls hunt in the dark")
    assert order(found)[0] == owls.article
    assert waiting.article not in order(found)
    first = found.results[0]
    assert {item.name for item in first.signals} == {"relevance", "confidence", "reuse", "survival"}
    assert "Owls hunt by hearing" in first.candidate.excerpt
    assert first.points == sum(item.points for item in first.signals)
    assert order(find(library, "why does dough rise"))[0] == bread.article


@pytest.mark.parametrize("query", ["zxqv blorp", "!!!", "wheelbarrow results", "citation_01m8"])
def test_what_fits_neither_by_words_nor_by_sense_is_not_found(library: Library, query: str) -> None:
    library.promote(library.writer(), more=OWLS)
    assert order(find(library, query)) == []


def test_what_is_undecided_counts_for_no_confidence(library: Library) -> None:
    owls = library.promote(library.writer(), more=OWLS)
    [found] = find(library, "owls hunt").results
    assert found.candidate.article == owls.article
    assert (found.candidate.bindings, found.candidate.confidence_bps) == (3, 9_000)


def test_what_fell_is_not_found(library: Library) -> None:
    ada = library.writer()
    owls = library.promote(ada, more=OWLS)
    library.write(lambda tx: library.commons.publications.retract(tx, ada, owls.article, "a mistake"))
    library.react()
    assert order(find(library, "owls")) == []


def test_independent_reuse_moves_an_article_up(library: Library) -> None:
    library.fund_pool(100 * USDC)
    one = library.promote(library.writer(), more=OWLS)
    two = library.promote(library.writer(), more=f"{OWLS} {BREAD}")
    before = {item.candidate.article: item.points for item in find(library, "owls feathers").results}
    for _ in range(3):
        library.promote(library.reader(), cites=two)
    after = {item.candidate.article: item for item in find(library, "owls feathers").results}
    gained = after[two.article].points - before[two.article]
    assert gained > after[one.article].points - before[one.article]
    reuse = next(item for item in after[two.article].signals if item.name == "reuse")
    assert reuse.words == "3 citations, 3.00 of them independent"


def test_stakes_and_boosts_move_nothing(library: Library) -> None:
    """What ranking is given holds neither; and boosting the last changes no place."""
    names = {field.name for field in dataclasses.fields(Candidate)}
    assert not {name for name in names if "stake" in name or "boost" in name or "fee" in name}
    articles = [library.promote(library.writer(), more=text) for text in (OWLS, f"{BREAD} Owls do not care.")]
    before = find(library, "owls")
    boost(library, articles[-1])
    after = find(library, "owls")
    assert order(after) == order(before)
    assert [item.points for item in after.results] == [item.points for item in before.results]
    assert [item.article for item in after.sponsored] == [articles[-1].article]


def test_tripled_stakes_change_no_place(library: Library, superuser_dsn: str) -> None:
    import psycopg

    for text in (OWLS, f"{BREAD} Owls do not care."):
        library.promote(library.writer(), more=text)
    before = find(library, "owls")
    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("update stakes set amount = amount * 3")
        superuser.execute("update stake_parts set amount = amount * 3")
        superuser.execute("update publications set fee = fee * 7")
    after = find(library, "owls")
    assert [(item.candidate, item.points) for item in after.results] == [
        (item.candidate, item.points) for item in before.results
    ]


def test_a_second_result_of_one_author_counts_less(library: Library) -> None:
    ada = library.writer()
    library.promote(ada, more=OWLS)
    library.promote(ada, more=f"{OWLS} They nest in barns.")
    found = find(library, "owls")
    second = found.results[1]
    assert second.signals[-1].name == "diversity"
    assert second.signals[-1].points < 0


def test_recency_counts_where_it_is_asked_for(library: Library) -> None:
    library.promote(library.writer(), more=OWLS)
    library.later(300 * DAY_S)
    new = library.promote(library.writer(), more=f"{OWLS} They nest in barns.")
    assert not find(library, "owls").recency
    found = find(library, "latest on owls")
    assert found.recency
    assert order(found)[0] == new.article
    assert any(item.name == "recency" for item in found.results[0].signals)


def test_what_is_older_is_left_out_where_that_is_asked_for(library: Library) -> None:
    old = library.promote(library.writer(), more=OWLS)
    library.later(300 * DAY_S)
    new = library.promote(library.writer(), more=f"{OWLS} They nest in barns.")
    assert set(order(find(library, "owls"))) == {old.article, new.article}
    assert order(find(library, "owls", days=30)) == [new.article]
    assert set(order(find(library, "owls", days=301))) == {old.article, new.article}


def test_the_feed_has_new_and_cited_work_and_sponsored_places_apart(library: Library) -> None:
    library.fund_pool(100 * USDC)
    old = library.promote(library.writer(), more=OWLS)
    citing = library.promote(library.reader(), cites=old)
    boost(library, old)
    with library.tx() as tx:
        feed = library.commons.search.feed(tx)
    assert [item.article for item in feed.new] == [citing.article, old.article]
    assert [(item.article, item.citations) for item in feed.cited] == [(old.article, 1)]
    assert [item.article for item in feed.sponsored] == [old.article]
    library.later(8 * DAY_S)
    with library.tx() as tx:
        assert library.commons.search.feed(tx).sponsored == ()  # its time is over


@pytest.mark.parametrize("query", ["", "   ", "\0", "x" * 501])
def test_a_query_must_say_something(library: Library, query: str) -> None:
    with pytest.raises(Invalid):
        find(library, query)


@pytest.mark.parametrize("query", ["'; drop table x; --", "a & | ! ( ) :* <->", "\u202e owls", "%s %d {0}", "a" * 500])
def test_odd_queries_are_only_words(library: Library, query: str) -> None:
    library.promote(library.writer(), more=OWLS)
    find(library, query)


def boost(library: Library, publication: Publication) -> None:
    who: Principal = library.person(chip=100)
    revisions: Revisions = library.commons.revisions
    library.write(lambda tx: revisions.boost(tx, who, publication.article, "b1"))
