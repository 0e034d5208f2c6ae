"""L3: a named judge says whether an extract entails a claim. What a judge answers is data, and is checked like any
other.

Guarantee: without a judge nothing is judged; a judge that raises, or answers in any other way than it may, leaves
the question undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from choir.commons.verifiers.model import CheckFinding, Level, Outcome

_NAME_MAX = 80
_ALLOWED = (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says."""

    outcome: Outcome
    words: str


class Judge(Protocol):
    """Whoever can say whether an extract entails a claim: a model, by its name and version."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def judge(self, claim: str, extract: str) -> Judgement:
        """Whether the extract says what the claim says."""
        ...


def judged(judge: Judge | None, claim: str, extract: str, words_max: int) -> CheckFinding:
    """What the judge says, in bounds."""
    if judge is None:
        return CheckFinding(Level.L3, "judge", Outcome.NOT_JUDGED, "No judge is configured.")
    data = {"judge": str(judge.name)[:_NAME_MAX], "version": str(judge.version)[:_NAME_MAX]}
    try:
        answer: object = judge.judge(claim, extract)
    except Exception as error:
        words = f"The judge {data['judge']} did not answer ({type(error).__name__})."
        return CheckFinding(Level.L3, "judge", Outcome.UNDECIDED, words, data)
    if not isinstance(answer, Judgement) or answer.outcome not in _ALLOWED or not isinstance(answer.words, str):
        words = f"The judge {data['judge']} did not answer as a judge answers."
        return CheckFinding(Level.L3, "judge", Outcome.UNDECIDED, words, data)
    words = "".join(char if char.isprintable() else " " for char in answer.words[:words_max])
    return CheckFinding(Level.L3, "judge", Outcome(answer.outcome), words or "The judge gave no reason.", data)
