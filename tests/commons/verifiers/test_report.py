"""The table that says how good the verifiers are."""

from __future__ import annotations

from choir.commons.verifiers.report import ALL_FALSE, LabelledPair, Row, measure

EXTRACT = "The treaty was signed in 1648 and ended the war."


def pair(set_: str, type_: str, claim: str) -> LabelledPair:
    return LabelledPair(set_, f"{set_}-{claim[:9]}", "history", type_, EXTRACT, claim)


def test_rows_are_by_set_and_type() -> None:
    pairs = [
        pair("second", "date", "The treaty was signed in 1650."),
        pair("first", "paraphrase", "The war ended with the treaty signed in 1648."),
        pair("first", "negation", "The treaty did not end the war."),
        pair("first", "fabricated", "The treaty was signed in 1648 by a bishop."),
    ]
    assert measure(pairs) == [
        Row("first", "paraphrase", failed=0, undecided=0, passed=1),
        Row("first", "fabricated", failed=0, undecided=1, passed=0),
        Row("first", "negation", failed=1, undecided=0, passed=0),
        Row("first", ALL_FALSE, failed=1, undecided=1, passed=0),
        Row("second", "date", failed=1, undecided=0, passed=0),
        Row("second", ALL_FALSE, failed=1, undecided=0, passed=0),
    ]


def test_what_is_good_depends_on_the_type() -> None:
    assert Row("a", "paraphrase", failed=1, undecided=2, passed=1).good_bps == 7_500
    assert Row("a", "number", failed=1, undecided=2, passed=1).good_bps == 7_500
    assert Row("a", "number", failed=0, undecided=4, passed=0).good_bps == 10_000


def test_no_pairs_are_no_rows() -> None:
    assert measure([]) == []
