"""Dates and names: those of the claim are in the extract, and said of the same."""

from __future__ import annotations

import pytest

from choir.commons.verifiers.dates import dates
from choir.commons.verifiers.model import Outcome
from choir.commons.verifiers.naming import names
from choir.commons.verifiers.structure import Reading
from tests.commons.verifiers.asking import findings, outcome

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("text", "year", "month", "day"),
    [
        ("on 14 October 1066", 1066, 10, 14),
        ("on October 14, 1066", 1066, 10, 14),
        ("on the 14th of October 1066", 1066, 10, 14),
        ("on 1066-10-14", 1066, 10, 14),
        ("in May 1796", 1796, 5, None),
        ("in 1796", 1796, None, None),
        ("in 44 BC", -44, None, None),
        ("on 3 March", None, 3, 3),
    ],
)
def test_how_dates_are_read(text: str, year: int | None, month: int | None, day: int | None) -> None:
    found = dates(Reading(f"It happened {text} in Rome."))
    assert [(date.year, date.month, date.day) for date in found] == [(year, month, day)]


def test_decades_and_centuries_are_dates() -> None:
    found = dates(Reading("In the 1450s, the 19th century and the twelfth century it rained."))
    assert [(date.decade, date.century) for date in found] == [(1450, None), (None, 19), (None, 12)]


def test_other_numbers_are_no_dates() -> None:
    assert dates(Reading("They may march; 2000 patients paid $1999 and more than 1500 dogs came.")) == []


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("It rained.", "It rained in 1796.", PASS),
        ("It rained in 1796.", "It rained in May 1796.", PASS),
        ("It rained in the 1790s.", "It rained in 1796.", PASS),
        ("It rained in the 18th century.", "It rained in 1796.", PASS),
        ("It rained in June 1796.", "It rained in May 1796.", FAIL),
        ("It rained in 1798.", "It rained in 1796.", FAIL),
        ("It rained on 5 May 1796.", "It rained in May 1796.", FAIL),
        ("It rained on 05/06/1796.", "It rained on 5 June 1796.", UNDECIDED),
        ("It rained in 1799.", "It rained in 1796 and snowed three years later.", UNDECIDED),
        ("It rained on Monday.", "It rained on Tuesday.", FAIL),
        ("The war ended in 1659.", "The war ended in 1648, but the siege lasted until 1659.", UNDECIDED),
    ],
)
def test_dates_are_compared(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("dates", claim, extract) is expected


def test_first_words_of_sentences_are_names_only_with_reason() -> None:
    plain = Reading("Smokers coughed. Methane burns. Yesterday Ada Lovelace wrote. Spain won.")
    assert [name.text for name in names(plain, plain)] == ["Ada Lovelace", "Spain"]


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Rutherford found it.", "Ernest Rutherford found it.", PASS),
        ("Ernest Rutherford found it.", "Rutherford found it.", UNDECIDED),
        ("E. Rutherford found it.", "Ernest Rutherford found it.", PASS),
        ("Dr Rutherford's team found it.", "Rutherford found it with a team.", PASS),
        ("Andres Iniesta scored.", "Andrés Iniesta scored.", PASS),
        ("Niels Bohr found it.", "Ernest Rutherford found it.", FAIL),
        ("Hans Marsden found it.", "Hans Geiger and Ernest Marsden found it.", FAIL),
        ("The WHO warned of it.", "The World Health Organization warned of it.", PASS),
        ("The IPCC warned of it.", "The Intergovernmental Panel on Climate Change warned of it.", PASS),
        ("GDP rose.", "The gross domestic product rose.", PASS),
        ("French wine sold well.", "Wine from France sold well.", PASS),
        ("Spain beat the Netherlands.", "The Netherlands were beaten by Spain.", PASS),
        ("The Netherlands beat Spain.", "Spain beat the Netherlands.", FAIL),
        ("Diderot sold the library to Catherine.", "Catherine bought the library of Diderot.", PASS),
        ("Catherine sold the library to Diderot.", "Catherine bought the library from Diderot.", UNDECIDED),
        ("Percy Shelley began Frankenstein.", "Mary Shelley began Frankenstein beside Percy Shelley.", FAIL),
        ("Gpt-4 was tested.", "GPT-3 was tested.", FAIL),
        ("Ernst Rutherford wrote to Вohr.", "Ernst Rutherford wrote to Bohr.", FAIL),
    ],
)
def test_names_are_compared(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("names", claim, extract) is expected


def test_what_stands_near_the_extract_softens_but_never_passes() -> None:
    extract = "She won the prize there."
    context = f"Marie Curie came to Stockholm in 1911. {extract}"
    found = findings("Marie Curie won the prize in 1911.", extract, context)
    assert (found["names"].outcome, found["dates"].outcome) == (UNDECIDED, UNDECIDED)
