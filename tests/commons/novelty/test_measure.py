"""Who a passage is attributed to, what is common, and what a young corpus or an unread language allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from choir.commons.novelty import lexical
from choir.commons.novelty.measure import Measured, Neighbour, Work, WorkKind, measure
from tests.commons.novelty.attacks import written
from tests.commons.novelty.library import EMBEDDER, POLICY, embed

TEXT = written("clocks", "original")
GERMAN = (
    "Die Brücke über den Fluss wurde im Jahr 1891 gebaut und ist seit dem Krieg nicht mehr für schwere Wagen frei. "
    "Der Rat der Stadt hat im März mit einer Firma aus dem Norden gesprochen, die das Holz der Pfeiler prüfen wird. "
    "Es ist nicht sicher, ob sich eine Erneuerung lohnt, weil auch der neue Tunnel von vielen genutzt wird. "
    "Für die Händler auf dem linken Ufer ist das keine gute Nachricht, denn zu ihnen kommt man fast nur zu Fuß."
)


def measured(text: str, near: list[Neighbour], corpus: int = 1_000) -> Measured:
    passages = embed(text)
    return measure(passages, [near] * len(passages), embedder=EMBEDDER.name, corpus_passages=corpus, policy=POLICY)


def held(*works: Work) -> list[Neighbour]:
    return [Neighbour(one.passage.text, one.vector, work) for work in works for one in embed(TEXT)]


def article(n: int, cluster: str | None = None, kind: WorkKind = WorkKind.ARTICLE) -> Work:
    return Work(f"w{n}", f"Article {n}", kind, n, f"owner {n}", cluster)


def test_a_copy_is_attributed_to_the_earliest() -> None:
    found = measured(TEXT, held(article(2), article(1)))
    assert [(one.work.id, one.words) for one in found.copies] == [("w1", 431)]
    assert (found.score, found.words) == (0, 0)


def test_what_three_independent_authors_have_is_common() -> None:
    found = measured(TEXT, held(article(1), article(2), article(3)))
    assert found.copies == ()
    assert all(one.common for one in found.passages)


def test_authors_of_one_cluster_count_once() -> None:
    found = measured(TEXT, held(article(1, "ring"), article(2, "ring"), article(3, "ring")))
    assert [one.work.id for one in found.copies] == ["w1"]


@pytest.mark.parametrize("kind", [WorkKind.SOURCE, WorkKind.BACKGROUND])
def test_what_a_source_has_is_common(kind: WorkKind) -> None:
    found = measured(TEXT, held(article(2), article(1, kind=kind)))
    assert found.copies == ()
    assert found.score == 0


def test_a_source_that_came_later_hides_no_copy() -> None:
    found = measured(TEXT, held(article(1), article(2, kind=WorkKind.SOURCE)))
    assert [one.work.id for one in found.copies] == ["w1"]


def test_copies_of_it_do_not_make_a_passage_common() -> None:
    copiers = (replace(article(n, f"sybil {n}"), copies=frozenset({"w1"})) for n in (2, 3, 4))
    found = measured(TEXT, held(article(1), *copiers))
    assert [one.work.id for one in found.copies] == ["w1"]


def test_what_was_ones_own_first_is_nobody_elses() -> None:
    found = measured(TEXT, held(article(1, kind=WorkKind.OWN), article(2)))
    assert found.copies == ()


def test_what_fell_is_paid_nothing() -> None:
    found = measured(TEXT, held(replace(article(1), standing=False)))
    assert found.copies == ()
    assert found.score == 0


def test_ones_own_article_is_not_attributed_but_earns_nothing() -> None:
    found = measured(TEXT, held(article(1, kind=WorkKind.OWN)))
    assert found.copies == ()
    assert (found.score, found.words, found.reward) == (0, 0, 0)


def test_nothing_before_it_is_new() -> None:
    found = measured(TEXT, [])
    assert found.score == 100
    assert found.reasons == ("Nothing like it was there before.",)


def test_a_young_corpus_allows_fifty() -> None:
    found = measured(TEXT, [], corpus=99)
    assert found.score == 50
    assert "little to compare with" in found.reasons[-1]


def test_another_language_is_not_called_noise_but_capped() -> None:
    assert lexical.unread_language(GERMAN) == "German"
    assert lexical.unread_language("これは日本語の文章です。" * 20) == "another script"
    assert lexical.unread_language(TEXT) is None
    assert lexical.noise(GERMAN, "German") == lexical.FREE
    assert measured(GERMAN, []).score <= POLICY.unread_score_max


def test_an_empty_text_is_worth_nothing() -> None:
    found = measured("", [])
    assert (found.score, found.words, found.reward) == (0, 0, 0)
