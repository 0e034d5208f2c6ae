"""What a verdict rests on, said in a sentence: whether a run was run again, what proof a patch's tests gave.

Guarantees: pure; nothing is called verified that only is as its provider says; the level is the one that the verdict's
own checks show, whatever was hoped for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choir.bazaar.jobs.model import JobType
from choir.doors.mesh.model import Check

NOT_RUN_AGAIN = "Not run again"  # how the verifier's sentence about a run begins that it took as it came
_BY_EXIT_CODE = "tests by exit code"
_DETERMINISTIC = "If the output is reproducible, order with --deterministic: then verifiers may re-run it."


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at, whether that proves the work, and how to have more of it next time."""

    word: str  # "Verified", or "Accepted" where what counts is the provider's word
    checked: str
    more: str = ""


def proof_of(type_: JobType, checks: Sequence[Check]) -> Proof:
    """What these checks of a passed verdict amount to."""
    if type_ is JobType.SANDBOX_RUN:
        return _of_run(checks)
    if type_ is JobType.PATCH_GEN:
        return _of_patch(checks)
    if type_ is JobType.CODE_REVIEW:
        return Proof("Accepted", "the review's shape and its references; not whether it is right")
    if type_ is JobType.REPO_INDEX:
        again = next((check for check in checks if check.name == "indexed again"), None)
        return Proof("Verified", f"its files, and samples of its symbols and references{_sampled(again)}")
    return Proof("Accepted", "the text's length and shape, not its content")


def _sampled(again: Check | None) -> str:
    return f"; {again.details[:1].lower()}{again.details[1:].rstrip('.')}" if again and again.details else ""


def is_left_out(check: Check) -> bool:
    """Whether nothing was done: a run that is not deterministic, or was not drawn, is not run again."""
    return check.passed and check.details.startswith(NOT_RUN_AGAIN)


def _of_run(checks: Sequence[Check]) -> Proof:
    again = next((check for check in checks if check.name == "re-run"), None)
    if again is not None and not is_left_out(again):
        return Proof("Verified", "the node re-ran it and got the same output and exit code")
    claimed = "exit code and output hash are as claimed by the provider; not re-run"
    drawn = again is not None and "not drawn" in again.details
    why, more = ("only a random sample is", "") if drawn else ("it was not ordered as deterministic", _DETERMINISTIC)
    return Proof("Accepted", f"{claimed} ({why})", more)


def _of_patch(checks: Sequence[Check]) -> Proof:
    hidden = any(check.hidden for check in checks)
    if any(check.name == _BY_EXIT_CODE for check in checks):
        proof = "only that the test command exits with code 0, which the patched code can force"
        if hidden:
            return Proof("Verified", f"{proof}, and hidden checks (V3)")
        return Proof("Accepted", f"{proof}: a weak verdict (V1)", MORE_PROOF)
    if hidden:
        return Proof("Verified", "a report of each of your tests, and hidden checks (V3)")
    return Proof("Verified", "a report of each of your tests (V2); a provider can tailor its patch to them")


MORE_PROOF = (
    "For more: a pytest command, which runs unittest tests too, gives a report of each test (V2); --hidden adds tests"
    " that no provider sees (V3)."
)
