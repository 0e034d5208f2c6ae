"""Texts are cut into passages: all words, once, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from choir.commons.articles.words import count_words
from choir.commons.passages.cutting import cut

SENTENCE = "The river was low that year and the mills stood still for weeks. "


@given(st.text(alphabet="ab .!?\n", max_size=2_000) | st.text(alphabet="水火。 \n", max_size=2_000))
def test_every_word_is_in_exactly_one_passage(text: str) -> None:
    passages = cut(text, 20)
    assert "".join("".join(one.text.split()) for one in passages) in "".join(text.split())
    assert sum(one.words for one in passages) == sum(count_words(one.text) for one in passages)
    assert sum(one.words for one in passages) == count_words(text)
    assert [one.n for one in passages] == list(range(len(passages)))


def test_passages_have_about_two_hundred_words() -> None:
    sizes = [one.words for one in cut(SENTENCE * 100)]
    assert all(180 <= size <= 220 for size in sizes[:-1])
    assert 100 <= sizes[-1] <= 300


def test_a_short_tail_joins_its_neighbour() -> None:
    assert [one.words for one in cut(SENTENCE * 18)] == [234]


def test_a_paragraph_ends_a_passage() -> None:
    text = SENTENCE * 13 + "\n\n" + SENTENCE * 14
    assert [one.words for one in cut(text)] == [169, 182]


def test_what_has_no_sentences_is_cut_between_words() -> None:
    assert [one.words for one in cut("word " * 1_000)] == [200] * 5
    assert all(one.words <= 300 for one in cut("水" * 2_000))


def test_a_text_without_words_has_no_passages() -> None:
    assert cut("") == []
    assert cut(" … \n\n —") == []
