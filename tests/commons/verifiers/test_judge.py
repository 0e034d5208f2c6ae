"""L3: what a judge answers is data; whatever is odd about it leaves the question undecided."""

from __future__ import annotations

from typing import Any

import pytest

from choir.commons.verifiers.judge import Judgement, judged
from choir.commons.verifiers.model import Level, Outcome


class Answering:
    """A judge that gives one answer, whatever it is."""

    name, version = "one-answer", "1"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def judge(self, claim: str, extract: str) -> Judgement:
        if isinstance(self._answer, Exception):
            raise self._answer
        answer: Judgement = self._answer
        return answer


def test_without_a_judge_nothing_is_judged() -> None:
    found = judged(None, "claim", "extract", 100)
    assert (found.level, found.outcome, found.words) == (Level.L3, Outcome.NOT_JUDGED, "No judge is configured.")


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED])
def test_a_judge_is_named_with_what_it_says(outcome: Outcome) -> None:
    found = judged(Answering(Judgement(outcome, "It follows.")), "claim", "extract", 100)
    assert (found.outcome, found.words) == (outcome, "It follows.")
    assert found.data == {"judge": "one-answer", "version": "1"}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "pass",
        True,
        Judgement(Outcome.NOT_JUDGED, "I would rather not."),
        Judgement("maybe", "Who knows."),  # type: ignore[arg-type]
        Judgement(Outcome.PASS, 7),  # type: ignore[arg-type]
        ValueError("out of memory"),
        RecursionError(),
    ],
)
def test_an_odd_answer_is_undecided(answer: Any) -> None:
    assert judged(Answering(answer), "claim", "extract", 100).outcome is Outcome.UNDECIDED


def test_its_words_are_bounded_and_printable() -> None:
    found = judged(Answering(Judgement(Outcome.PASS, "a\x00b\n" + "c" * 900)), "claim", "extract", 50)
    assert len(found.words) == 50
    assert found.words.isprintable()


def test_a_judge_without_words_gets_some() -> None:
    assert judged(Answering(Judgement(Outcome.FAIL, "")), "claim", "extract", 50).words
