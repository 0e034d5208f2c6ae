"""Where a check that fails may be wrong itself, it is undecided instead. Pure.

Each check goes by words. Some ways of saying the same are known to look like their opposite to it: a bound ("more than
four hours" of 4 hours and 12 minutes), a share ("three in ten"), an exception ("without those of March"), a verb seen
from the other side ("given", "received"). A claim that is written so is not refused; it is not verified either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from choir.commons.policy import VerifiersPolicy
from choir.commons.verifiers.association import new_words_bps
from choir.commons.verifiers.model import CheckFinding, Outcome

_NUMBER = (
    r"(?:\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|"
    r"eighty|ninety|half|third|quarter|dozen|hundred|thousand|million)\b)"
)
_THIS_NUMBER = rf" (?:(?:about|nearly|some|an?|the) )?[$€£]?{_NUMBER}"
_BOUNDS = re.compile(
    rf"\b(?:(?:more|less|fewer|\w{{2,12}}er) than|over|under|above|below|at least|at most|up to|as \w{{3,6}} as|"
    rf"exceed(?:s|ed|ing)?){_THIS_NUMBER}|\b(?:half|thirds?|quarters?|twice|doubled?|tripled?|dozen)\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    rf"\b(?:limit(?:s|ed)? to|up to|at least|at most|no more than|(?:maximum|minimum) of){_THIS_NUMBER}", re.IGNORECASE
)
_SHARES = re.compile(rf"\b{_NUMBER}\d* (?:in|out of) (?:every )?{_NUMBER}", re.IGNORECASE)
_EXCEPTIONS = re.compile(
    r"\b(?:without|except|excepting|excluding|apart from|other than|but not|missing|absent|unless|only|no longer|"
    r"instead|"
    r"rather than|need not|needs? no|free of|lack\w*|fail\w* to|avoid\w*|refus\w*|prohibit\w*|ban|banned|exempt\w*)\b",
    re.IGNORECASE,
)
_CONVERSES = re.compile(
    r"\b(?:giv\w+|gave|receiv\w+|buy\w*|bought|sell\w*|sold|lend\w*|lent|borrow\w*|teach\w*|taught|learn\w*|win\w*|won|"
    r"los\w+|beat\w*|preced\w+|follow\w*|import\w*|export\w*|send\w*|sent|allow\w*|forbid\w*|grant\w*|obtain\w*)\b",
    re.IGNORECASE,
)


def with_reserve(
    claim: str, extract: str, findings: Sequence[CheckFinding], policy: VerifiersPolicy
) -> list[CheckFinding]:
    """The same findings, with those undecided whose check is known to err on such words.

    A claim that is far from the extract's wording is refused by none of them: what lies side by side there is a guess.
    """
    far = new_words_bps(claim, extract) > policy.close_bps_max
    return [_reserved(item) if _is_doubtful(claim, extract, item, far=far) else item for item in findings]


def _is_doubtful(claim: str, extract: str, item: CheckFinding, *, far: bool) -> bool:
    if item.outcome is not Outcome.FAIL or far:
        return item.outcome is Outcome.FAIL
    if item.check == "numbers":
        return bool(_BOUNDS.search(claim) or _SHARES.search(claim) or _LIMITS.search(extract))
    if item.check == "negation":
        return _EXCEPTIONS.search(claim) is not None
    return item.check == "comparison" and bool(_CONVERSES.search(item.words))


def _reserved(item: CheckFinding) -> CheckFinding:
    return replace(item, outcome=Outcome.UNDECIDED, words=f"{item.words} It may be said in another way.")
