"""How texts are read: characters, sentences, verbs, clauses, who does what, what is denied."""

from __future__ import annotations

import pytest

from choir.commons.verifiers.lexicon import keys, light, relation, root
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.text import read, same_words


def words(reading: Reading, places: tuple[int, ...] | list[int] | frozenset[int]) -> list[str]:
    return [reading.tokens[at].raw for at in sorted(places) if reading.is_content(at)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rising", "rose"),
        ("planned", "plan"),
        ("hoped", "hope"),
        ("carries", "carried"),
        ("queued", "queue"),
        ("men", "man"),
    ],
)
def test_inflected_words_have_one_stem(one: str, other: str) -> None:
    assert light(one) == light(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("recovery", "recovered"), ("decision", "decides"), ("calculation", "calculate"), ("shorter", "short")],
)
def test_derived_words_have_one_root(one: str, other: str) -> None:
    assert root(one) == root(other)


@pytest.mark.parametrize(("one", "other"), [("plane", "plan"), ("state", "station"), ("university", "universe")])
def test_other_words_have_not(one: str, other: str) -> None:
    assert light(one) != light(other)


@pytest.mark.parametrize(
    ("one", "other", "sign"),
    [
        ("rose", "climbed", 1),
        ("rose", "fell", -1),
        ("active", "inactive", -1),
        ("constitutional", "unconstitutional", -1),
        ("doctor", "physician", 1),
        ("important", "portant", 0),
        ("dog", "treaty", 0),
    ],
)
def test_meanings(one: str, other: str, sign: int) -> None:
    assert relation(keys(one), keys(other)) == sign


def test_characters_are_folded() -> None:
    tokens = read("Ａndrés’s １２ “cats” – ½ of 10⁶").tokens
    assert [token.word for token in tokens] == [
        "andres",
        "12",
        '"',
        "cats",
        '"',
        "-",
        "1",
        "/",
        "2",
        "of",
        "10",
        "^",
        "6",
    ]


@pytest.mark.parametrize(("text", "odd"), [("pay\u200bpal", "U+200B"), ("a\u202eb", "U+202E"), ("Раypal", "Раypal")])
def test_odd_characters_are_noted(text: str, odd: str) -> None:
    assert odd in read(text).odd


@pytest.mark.parametrize("text", ["5 μg of it", "the naïve café", "β-carotene", "Αθήνα"])
def test_other_alphabets_are_not_odd_by_themselves(text: str) -> None:
    assert read(text).odd == ()


def test_sentences_end_where_they_end() -> None:
    tokens = read("Dr. J. Smith paid 3.5 dollars, e.g. to Ms. Doe. It rained! Did it?").tokens
    assert max(token.sentence for token in tokens) == 2


def test_phrases_are_one_token_but_only_their_first_word_is_inflected() -> None:
    assert [token.word for token in read("It led to prices rose").tokens] == ["it", "lead_to", "prices", "rose"]


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("The company reports a loss.", ["reports"]),
        ("The reports show losses.", ["show"]),
        ("Energy costs fell.", ["fell"]),
        ("Patients enrolled in May recovered.", ["enrolled", "recovered"]),
        ("It failed to qualify.", ["qualify"]),
        ("In May it may rain.", ["rain"]),
    ],
)
def test_verbs_are_told_from_nouns(text: str, verbs: list[str]) -> None:
    reading = Reading(text)
    assert [token.raw for token in reading.tokens if reading.tags[token.at] is Tag.VERB] == verbs


def test_a_clause_goes_on_after_the_one_inside_of_it() -> None:
    reading = Reading("Tanenbaum, whose Minix had inspired it, criticised its design.")
    frames = {reading.tokens[frame.head].raw: frame for frame in reading.frames}
    assert words(reading, frames["criticised"].agents) == ["Tanenbaum"]
    assert words(reading, frames["inspired"].agents) == ["Minix"]


@pytest.mark.parametrize("text", ["Spain beat Brazil.", "Brazil was beaten by Spain.", "Brazil lost to Spain."])
def test_who_acts_is_the_same_however_it_is_said(text: str) -> None:
    reading = Reading(text)
    (frame,) = reading.frames
    assert (words(reading, frame.agents), words(reading, frame.patients)) == (["Spain"], ["Brazil"])


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It did not rise.", ["rise"]),
        ("It failed to rise.", ["rise"]),
        ("No price rose.", ["rose"]),
        ("There was no evidence that it rose.", ["evidence", "rose"]),
        ("It rose without noise.", ["noise"]),
        ("It was not safe.", ["safe"]),
        ("Search engines must not, on request, remove it.", ["remove"]),
        ("It rose not only in May.", []),
        ("Not only did it rise.", []),
    ],
)
def test_what_is_denied(text: str, denied: list[str]) -> None:
    reading = Reading(text)
    assert words(reading, reading.denied) == denied


def test_texts_are_the_same_words_whatever_their_spaces() -> None:
    assert same_words("It  rained\n in “May”.", 'it rained in "may".')
    assert not same_words("It rained.", "It rained not.")
