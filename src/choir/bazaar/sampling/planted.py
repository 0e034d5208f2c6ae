"""Planted defects: lines of a diff that are known to be wrong, and whether a review has found one.

What a review says is not judged; that it points at a defect is, and not at everything. The lines are known to the
verifier alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.bazaar.contracts import StructuredReview
from choir.bazaar.jobs.model import Check, Visibility
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import canonical_bytes, parse_json
from choir.foundation.errors import Invalid

MISSED = ("review.planted_missed", "review.points_everywhere")  # why a review did not find them
_NAME = "planted defects"
_SPAN_LINES_MAX = 3  # a finding that covers more points at nothing


@dataclass(frozen=True, slots=True)
class Planted:
    """Where the defects are: lines of the new side, by file."""

    lines: tuple[tuple[str, int], ...]
    all_lines: int  # how many the diff adds
    salt: str  # so that nobody finds the lines by trying which have their hash

    def to_bytes(self) -> bytes:
        planted = [{"file": file, "line": line} for file, line in self.lines]
        return canonical_bytes({"planted": planted, "lines": self.all_lines, "salt": self.salt})


def read(data: bytes) -> Planted:
    """From what was kept with the job."""
    try:
        found = parse_json(data)
        lines = tuple((str(item["file"]), int(item["line"])) for item in found["planted"])
        return Planted(lines, int(found["lines"]), str(found["salt"]))
    except (KeyError, TypeError, ValueError):
        raise Invalid(what="The order", why="its planted defects cannot be read") from None


def check(artifact: bytes, planted: Planted, policy: VerificationPolicy) -> Check:
    """Whether a review, which is known to be well formed, points at one of the lines."""
    review = StructuredReview.from_bytes(artifact, policy)
    spans = [(issue.file, *issue.line_range) for issue in review.issues]
    spans += [(item.file, item.line, item.line + item.current.count("\n")) for item in review.suggestions]
    pointed = {
        (file, line) for file, first, last in spans if last < first + _SPAN_LINES_MAX for line in range(first, last + 1)
    }
    if not pointed & set(planted.lines):
        return _failed(MISSED[0], "The diff has planted defects, and the review names none.")
    if 2 * len(pointed) > planted.all_lines:
        return _failed(MISSED[1], "The review flags more than half of all lines.")
    return Check(_NAME, passed=True, visibility=Visibility.HIDDEN)


def _failed(reason: str, details: str) -> Check:
    return Check(_NAME, passed=False, reason=reason, details=details, visibility=Visibility.HIDDEN)
