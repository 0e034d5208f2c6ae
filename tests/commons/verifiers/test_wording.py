"""Negation, quantifiers, comparison, reserve, attribution and coverage, each by a table."""

from __future__ import annotations

import pytest

from choir.commons.verifiers.model import Outcome
from tests.commons.verifiers.asking import findings, outcome

PASS, FAIL, UNDECIDED = Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("The drug reduced deaths.", "The drug reduced deaths.", PASS),
        ("The drug did not reduce deaths.", "The drug reduced deaths.", FAIL),
        ("The drug reduced deaths.", "The drug didn't reduce deaths.", FAIL),
        ("The drug reduced deaths.", "The drug failed to reduce deaths.", FAIL),
        ("The drug failed to reduce deaths.", "The drug did not reduce deaths.", PASS),
        ("The drug never reduced deaths.", "The drug did not reduce deaths.", PASS),
        ("No drug reduced deaths.", "A drug reduced deaths.", FAIL),
        ("The drug had an effect.", "The drug had no effect.", FAIL),
        ("The drug did not affect deaths.", "The drug had no effect on deaths.", PASS),
        ("There was evidence that the drug works.", "There was no evidence that the drug works.", FAIL),
        ("The law was constitutional.", "The law was unconstitutional.", FAIL),
        ("The law was not constitutional.", "The law was unconstitutional.", PASS),
        ("Neither dogs nor cats carry it.", "Dogs and cats carry it.", FAIL),
        ("It heals with treatment.", "It heals without treatment.", FAIL),
        ("The farms used pesticides.", "The farms used no pesticides.", FAIL),
        ("It is on by default.", "It is not on by default.", FAIL),
    ],
)
def test_negation(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("negation", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("All dogs bark.", "Most dogs bark.", FAIL),
        ("Most dogs bark.", "All dogs bark.", PASS),
        ("Some dogs bark.", "Most dogs bark.", PASS),
        ("Every dog barks.", "All dogs bark.", PASS),
        ("All dogs bark.", "Not all dogs bark.", FAIL),
        ("Most dogs bark.", "Few dogs bark.", FAIL),
        ("Few dogs bark.", "Most dogs bark.", FAIL),
        ("All dogs bark.", "Dogs bark.", UNDECIDED),
        ("Dogs bark.", "Some dogs bark.", UNDECIDED),
        ("Dogs bark.", "All dogs bark.", PASS),
        ("It always rains.", "It sometimes rains.", FAIL),
        ("It sometimes rains.", "It always rains.", PASS),
        ("Most dogs bark.", "62 percent of dogs bark.", PASS),
        ("Most dogs bark.", "38 percent of dogs bark.", FAIL),
        ("Only dogs bark.", "Both dogs and seals bark.", FAIL),
        ("Only dogs bark.", "Only dogs bark, it is said.", PASS),
    ],
)
def test_quantifiers(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("quantifiers", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Prices rose sharply.", "Prices climbed sharply.", PASS),
        ("Prices fell sharply.", "Prices rose sharply.", FAIL),
        ("Dogs are larger than cats.", "Cats are smaller than dogs.", PASS),
        ("Cats are larger than dogs.", "Dogs are larger than cats.", FAIL),
        ("Sound is faster in air than in water.", "Sound is faster in water than in air.", FAIL),
        ("The air holds twice as much carbon as the soil.", "The soil holds twice as much carbon as the air.", FAIL),
        ("The treaty was signed after the war.", "The treaty was signed before the war.", FAIL),
        ("The war came after the treaty.", "The treaty was signed before the war.", PASS),
        ("The court approved the merger.", "The court rejected the merger.", FAIL),
        ("Imports fell while exports rose.", "Exports fell while imports rose.", UNDECIDED),
        ("Dogs eat more than cats.", "Dogs eat meat and cats eat fish.", UNDECIDED),
        ("The dog sleeps.", "The dog sleeps here.", PASS),
    ],
)
def test_comparison(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("comparison", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("Coffee causes insomnia.", "Coffee may cause insomnia.", UNDECIDED),
        ("Coffee may cause insomnia.", "Coffee may cause insomnia.", PASS),
        ("Coffee might cause insomnia.", "Coffee causes insomnia.", PASS),
        ("Coffee causes insomnia.", "The results suggest that coffee causes insomnia.", UNDECIDED),
        ("The pack shuts down.", "The pack shuts down if a cell overheats.", UNDECIDED),
        ("Coffee causes insomnia.", "Coffee causes insomnia in adults.", PASS),
    ],
)
def test_reserve(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("modality", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("The sea is rising.", "The ministry said that the sea is rising.", PASS),
        ("The ministry said that the sea is rising.", "According to the ministry, the sea is rising.", PASS),
        ("The opposition said that the sea is rising.", "The ministry said that the sea is rising.", FAIL),
        ("According to the WHO, the sea is rising.", "According to the WMO, the sea is rising.", FAIL),
        ("The ministry said that the sea is rising.", "The sea is rising.", FAIL),
        ("Researchers found that the sea is rising.", "The sea is rising.", PASS),
        ("The authors concluded that the sea is rising.", "We conclude that the sea is rising.", PASS),
    ],
)
def test_attribution(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("attribution", claim, extract) is expected


@pytest.mark.parametrize(
    ("claim", "extract", "expected"),
    [
        ("The physician cured the patient.", "The doctor healed a patient.", PASS),
        ("Animals were killed.", "Dogs were killed.", PASS),
        ("Dogs were killed.", "Animals were killed.", UNDECIDED),
        ("The physician bought a violin from a neighbour.", "The doctor healed a patient.", FAIL),
        ("The doctor healed a patient with leeches.", "The doctor healed a patient.", UNDECIDED),
        ("It was so.", "It was so, too.", UNDECIDED),
    ],
)
def test_coverage(claim: str, extract: str, expected: Outcome) -> None:
    assert outcome("coverage", claim, extract) is expected


def test_coverage_names_the_words_that_are_missing() -> None:
    found = findings("The physician bought a violin from a banker.", "The doctor healed a patient.")["coverage"]
    assert found.words == "The extract does not speak of 'bought', 'violin', 'banker'."
    assert found.data["missing"] == ["bought", "violin", "banker"]
