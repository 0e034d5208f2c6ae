"""What holds for all texts: nothing raises, the same gives the same, a copy passes, a denied copy never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.commons.articles.model import Relation
from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.lexicon import words_of
from choir.commons.verifiers.model import Level, Outcome
from choir.commons.verifiers.pair import Pair
from choir.commons.verifiers.referee import compared, verify_binding
from tests.commons.verifiers.asking import development_pairs

ANY_TEXT = st.text(max_size=200)
PIECES = words_of(
    "the of not never no more than 5 1,200 % mg km in 1996 May $ billion Smith Paris who that which was rose fell and ,"
    " . ; ( ) — ' all most said according to if may without twice half 3-1 °C U.S. un- Ａ ½ ٣"
)
ENGLISH_LIKE = st.lists(st.sampled_from(sorted(PIECES)), max_size=40).map(" ".join)
NOUNS = st.sampled_from(("dogs", "cats", "treaties", "engines", "doctors", "bridges", "glaciers"))
VERBS = st.sampled_from(("eat", "destroy", "carry", "build", "support", "watch", "attract"))
SIMPLE = st.tuples(NOUNS, VERBS, NOUNS)
EVIDENCE = sorted({pair.evidence for pair in development_pairs()})


@given(claim=ANY_TEXT | ENGLISH_LIKE, extract=ANY_TEXT | ENGLISH_LIKE, context=ANY_TEXT)
def test_nothing_raises_and_the_same_gives_the_same(claim: str, extract: str, context: str) -> None:
    for relation in Relation:
        first = verify_binding(claim, extract, context, relation)
        assert verify_binding(claim, extract, context, relation) == first


@given(text=ANY_TEXT | ENGLISH_LIKE)
def test_a_copy_passes_unless_its_characters_are_odd(text: str) -> None:
    found = verify_binding(text, text, "", Relation.SUPPORTS)
    by_check = {item.check: item.outcome for item in found.findings if item.level is Level.L2}
    assert by_check.pop("characters") in (Outcome.PASS, Outcome.UNDECIDED)
    assert set(by_check.values()) == {Outcome.PASS}


@pytest.mark.parametrize("text", EVIDENCE)
def test_each_check_finds_nothing_wrong_with_a_copy(text: str) -> None:
    """Without the short way for copies: what the checks themselves say."""
    found = {item.check: item for item in compared(Pair(text, text, "", VerifiersPolicy()))}
    assert {check: item.words for check, item in found.items() if item.outcome is Outcome.FAIL} == {}


@given(parts=SIMPLE)
def test_a_denied_copy_never_passes(parts: tuple[str, str, str]) -> None:
    subject, verb, object_ = parts
    plain, denied = f"The {subject} {verb} the {object_}.", f"The {subject} do not {verb} the {object_}."
    for claim, extract in ((denied, plain), (plain, denied)):
        assert verify_binding(claim, extract, "", Relation.SUPPORTS).at(Level.L2) is not Outcome.PASS


@given(parts=SIMPLE)
def test_changed_places_never_pass(parts: tuple[str, str, str]) -> None:
    subject, verb, object_ = parts
    claim, extract = f"The {object_} {verb} the {subject}.", f"The {subject} {verb} the {object_}."
    outcome = verify_binding(claim, extract, "", Relation.SUPPORTS).at(Level.L2)
    assert (outcome is Outcome.PASS) == (subject == object_)


@given(number=st.integers(2, 10**9), other=st.integers(2, 10**9), noun=NOUNS)
def test_another_number_never_passes(number: int, other: int, noun: str) -> None:
    found = verify_binding(f"They saw {other:,} {noun}.", f"They saw {number:,} {noun}.", "", Relation.SUPPORTS)
    assert (found.at(Level.L2) is Outcome.PASS) == (number == other)
