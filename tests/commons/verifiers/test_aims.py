"""How good the verifiers must be on every set of pairs: forgeries are caught, true paraphrases are not refused."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from choir.benchmarks.verifiers import AIMS, read_pairs, run
from choir.commons.verifiers.report import ALL_FALSE, PARAPHRASE, TYPES

FOLDER = Path(__file__).parent
SETS = ("blind", "blind_second", "blind_third", "pairs")
# What is reached today, with little room below. No aims: most true claims in other words stay undecided.
PASSED_BPS = {"blind": 4_100, "blind_second": 1_500, "blind_third": 1_000, "pairs": 5_100}
FAILED_BPS = {"blind": 4_700, "blind_second": 4_300, "blind_third": 5_000, "pairs": 6_000}
LEAST = {
    PARAPHRASE: 45,
    "fabricated": 8,
    "misattributed": 8,
    "number": 10,
    "date": 6,
    "unit": 6,
    "name": 8,
    "negation": 10,
    "quantifier": 5,
    "comparison": 6,
}


@cache
def table() -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["set"], row["type"]): row for row in run(FOLDER)["rows"]}


@pytest.mark.parametrize("set_", SETS)
@pytest.mark.parametrize("type_", AIMS)
def test_every_aim_is_met(set_: str, type_: str) -> None:
    row = table()[set_, type_]
    assert row["met"], row


def test_the_aims_are_what_was_agreed() -> None:
    """Fabricated, misattributed and number variants all caught; names 95 %; negation 90 %; paraphrases refused 5 %."""
    assert AIMS == {
        PARAPHRASE: 9_500,
        "fabricated": 10_000,
        "misattributed": 10_000,
        "number": 10_000,
        "name": 9_500,
        "negation": 9_000,
    }


@pytest.mark.parametrize("set_", SETS)
def test_some_paraphrases_are_verified(set_: str) -> None:
    row = table()[set_, PARAPHRASE]
    assert row["passed"] * 10_000 >= row["pairs"] * PASSED_BPS[set_], row


@pytest.mark.parametrize("set_", SETS)
def test_many_forgeries_fail_outright(set_: str) -> None:
    row = table()[set_, ALL_FALSE]
    assert row["failed"] * 10_000 >= row["pairs"] * FAILED_BPS[set_], row


def test_there_is_no_other_set() -> None:
    assert {pair.set for pair in read_pairs(FOLDER)} == set(SETS)


@pytest.mark.parametrize("set_", SETS)
def test_a_set_has_enough_of_each_type_and_domain(set_: str) -> None:
    pairs = [pair for pair in read_pairs(FOLDER) if pair.set == set_]
    types = Counter(pair.type for pair in pairs)
    assert set(types) == set(TYPES)
    assert {name: count for name, count in types.items() if count < LEAST[name]} == {}
    assert len({pair.domain for pair in pairs}) >= 10


@pytest.mark.parametrize("set_", SETS)
def test_no_pair_is_there_twice_and_none_is_half_empty(set_: str) -> None:
    pairs = [pair for pair in read_pairs(FOLDER) if pair.set == set_]
    assert all(all((pair.id, pair.domain, pair.evidence, pair.claim)) for pair in pairs)
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert len({(pair.evidence, pair.claim) for pair in pairs}) == len(pairs)
    assert [pair.id for pair in pairs if pair.claim == pair.evidence] == []
