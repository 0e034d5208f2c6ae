"""Numbers: the same value, of the same unit, said of the same thing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from choir.commons.verifiers.model import Outcome
from choir.commons.verifiers.quantities import Bound, quantities
from choir.commons.verifiers.structure import Reading
from tests.commons.verifiers.asking import findings, outcome

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 dogs", 12),
        ("１２ dogs", 12),
        ("١٢ dogs", 12),
        ("1,234,567 dogs", 1_234_567),
        ("4.25 litres", Fraction(17, 4)),
        ("twenty-five dogs", 25),
        ("one hundred and twenty dogs", 120),
        ("two and a half million dollars", 2_500_000),
        ("half a million people", 500_000),
        ("3½ years", Fraction(7, 2)),
        ("10⁶ cells", 1_000_000),
        ("a dozen eggs", 12),
        ("three dozen eggs", 36),
        ("$4.8bn of debt", 4_800_000_000),
        ("10k runs", 10_000),
        ("the 116th minute", 116),
        ("the twenty-first time", 21),
        ("twice as many", 2),
        ("tenfold growth", 10),
        ("two thirds of them", Fraction(2, 3)),
        ("a quarter of a percentage point", Fraction(1, 4)),
        ("one in five patients", Fraction(1, 5)),
        ("it was -5 °C", -5),
    ],
)
def test_how_numbers_are_read(text: str, value: int | Fraction) -> None:
    found = [quantity.value for quantity in quantities(Reading(text))]
    assert found == [value]


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("about 12 dogs", Bound.ABOUT),
        ("nearly 12 dogs", Bound.NEARLY),
        ("more than 12 dogs", Bound.OVER),
        ("fewer than 12 dogs", Bound.UNDER),
        ("at least 12 dogs", Bound.LEAST),
        ("12 or more dogs", Bound.LEAST),
        ("up to 12 dogs", Bound.MOST),
        ("a minimum of 12 dogs", Bound.LEAST),
        ("over ten years", Bound.EXACT),
    ],
)
def test_how_exact_numbers_are(text: str, bound: Bound) -> None:
    assert [quantity.bound for quantity in quantities(Reading(text))] == [bound]


def test_a_number_without_end_has_no_value() -> None:
    assert [quantity.value for quantity in quantities(Reading("7" * 5_000))] == [None]


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("The dog ate bones.", "The dog ate 3 bones.", PASS),
        ("The dog ate three bones.", "The dog ate 3 bones.", PASS),
        ("The dog ate 4 bones.", "The dog ate 3 bones.", FAIL),
        ("The dose was 5 g.", "The dose was 5 mg.", FAIL),
        ("The dose was 0.005 g.", "The dose was 5 mg.", PASS),
        ("The run was 10 km.", "The run was 6.2 miles.", UNDECIDED),
        ("The run was 20 km.", "The run was 6.2 miles.", FAIL),
        ("It cost 5 euros.", "It cost 5 dollars.", FAIL),
        ("It cost $5 million.", "It cost 5 million dollars.", PASS),
        ("Rates rose by 5 percent.", "Rates rose by 5 percentage points.", FAIL),
        ("Rates rose by 25 basis points.", "Rates rose by 0.25 percentage points.", PASS),
        ("Half of the dogs slept.", "50 % of the dogs slept.", PASS),
        ("About 300,000 people came.", "299,792 people came.", PASS),
        ("About 200,000 people came.", "299,792 people came.", FAIL),
        ("Nearly 300 people came.", "Exactly 310 people came.", FAIL),
        ("More than 14 percent came.", "Over 14 percent came.", PASS),
        ("More than 14 percent came.", "Less than 14 percent came.", FAIL),
        ("At most six people came.", "At least six people came.", FAIL),
        ("At least five people came.", "Six people came.", PASS),
        ("Exactly 180 people came.", "About 180 people came.", UNDECIDED),
        ("It took two weeks.", "It took a fortnight.", PASS),
        ("It took 14 days.", "It took two weeks.", PASS),
        ("It took 12 months.", "It took the whole year.", PASS),
        ("It ran at 40 km/h.", "It ran at 40 miles per hour.", FAIL),
        ("It boils at 100 °F.", "It boils at 100 °C.", FAIL),
        ("The phase 3 trial failed.", "The phase 2 trial failed.", FAIL),
        ("Sales rose by 5 percent.", "Sales rose to 5 percent.", FAIL),
        ("Sales fell from 40 to 50 tonnes.", "Sales fell from 50 to 40 tonnes.", FAIL),
        ("120 patients recovered.", "Of the 120 patients, 30 recovered.", FAIL),
        ("Ten banks failed.", "Three of the ten banks failed.", FAIL),
        ("Dogs ate 7 bones.", "Cats ate 7 bones while dogs ate 9 bones.", UNDECIDED),
    ],
)
def test_numbers_are_compared(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("numbers", claim, extract) is expected


def test_the_finding_says_what_is_missing() -> None:
    found = findings("The dog ate 4 bones.", "The dog ate 3 bones.")["numbers"]
    assert found.words == "The extract does not have the number '4'."
    assert found.data == {"claim": ["4"], "extract": ["3"]}


def test_a_check_that_does_not_apply_says_so() -> None:
    assert findings("The dog ate bones.", "The dog ate 3 bones.")["numbers"].words == "The claim has no numbers."
