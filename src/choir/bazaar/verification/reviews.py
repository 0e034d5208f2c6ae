"""CodeReview: every finding points at something that is really there.

What a review says is not judged. That it speaks of this diff is: files, lines and quoted code exist, fixes apply, and
there is a finding or a word about each file.
"""

from __future__ import annotations

from collections.abc import Iterable

from choir.bazaar.contracts import CodeReviewRequest, ReviewIssue, ReviewSuggestion, StructuredReview
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import syntax as parsing
from choir.bazaar.verification.diffs import FileDiff, read_diff
from choir.bazaar.verification.model import Delivery, Findings, Order
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import ChoirError, Invalid

Fault = tuple[str, str]
Finding = ReviewIssue | ReviewSuggestion
GOOD: Fault = ("", "")


def verify(order: Order, delivery: Delivery, policy: VerificationPolicy, findings: Findings) -> None:
    """All checks of a review."""
    files = files_of(order, policy)
    try:
        review = StructuredReview.from_bytes(delivery.artifact, policy)
    except ChoirError:
        findings.need("shape", "review.malformed", "The review does not have the required shape.")
        return
    findings.need("shape")
    found = _findings(review)
    findings.need("references", *_first(_reference_fault(item, files) for item in found))
    absent = any(item.file not in files for item in review.examined)
    findings.need("files examined", *(_absent_file() if absent else GOOD))
    wholes = {path: _python_text(files[path], policy) for path in {item.file for item in found}}
    findings.need("fixes", *_first(_fix_fault(item, wholes[item.file]) for item in found))
    findings.need("substance", *_substance_fault(review, files, policy))
    evidence = {"review": bytes_hash(delivery.artifact), "findings": len(found)}
    findings.need("whole review", evidence=evidence | {"files": len(files)})
    findings.units_milli = 1000 * units(files)


def files_of(order: Order, policy: VerificationPolicy) -> dict[str, FileDiff]:
    """The files of the diff by their paths; the order must be sound for that."""
    assert isinstance(order.request, CodeReviewRequest)
    if order.diff is None or bytes_hash(order.diff) != order.request.diff:
        raise Invalid(what="The order", why="its diff does not match the hash in the request")
    if len(order.diff) > policy.review_diff_bytes_max:
        raise Invalid(what="The order", why=f"its diff has more than {policy.review_diff_bytes_max} bytes")
    files = {item.path: item for item in read_diff(order.diff).files if item.path}
    if not files:
        raise Invalid(what="The order", why="its diff names no file")
    return files


def units(files: dict[str, FileDiff]) -> int:
    """Files with a changed line that is not blank."""
    return sum(any(item.new_lines[number].strip() for number in item.added) or _lost(item) for item in files.values())


def _lost(item: FileDiff) -> bool:
    kept = set(item.new_lines.values())
    return any(text.strip() and text not in kept for text in item.old_lines.values())


def _findings(review: StructuredReview) -> list[Finding]:
    return [*review.issues, *review.suggestions]


def _first(faults: Iterable[Fault]) -> Fault:
    return next((found for found in faults if found[0]), GOOD)


def _absent_file() -> Fault:
    return "review.file_absent", "The review names a file that is not in the diff."


def _span(item: Finding) -> tuple[int, int]:
    if isinstance(item, ReviewIssue):
        return item.line_range
    return item.line, item.line + len(_lines(item.current)) - 1


def _lines(code: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in code.split("\n")]
    return lines[:-1] if len(lines) > 1 and lines[-1] == "" else lines


def _reference_fault(item: Finding, files: dict[str, FileDiff]) -> Fault:
    """That file, lines and quoted code are there."""
    if item.file not in files:
        return _absent_file()
    lines = files[item.file].lines
    first, last = _span(item)
    if last - first >= len(lines) or any(number not in lines for number in range(first, last + 1)):
        return "review.lines_absent", "The review points at lines that the diff does not show."
    stands = [lines[number] for number in range(first, last + 1)]
    needed = isinstance(item, ReviewSuggestion) or bool(item.current)
    if needed and (_lines(item.current) != stands or not item.current.strip()):
        return "review.code_absent", "The code that the review quotes is not there."
    return GOOD


def _fix_fault(item: Finding, whole: list[str] | None) -> Fault:
    """That a fix can take the place of what it quotes, changes it, and leaves Python that is known whole parseable."""
    fix = item.suggested_fix if isinstance(item, ReviewIssue) else item.suggested
    if fix is None:
        return GOOD
    if not item.current:
        return "review.fix_does_not_apply", "A suggested fix does not quote the code it replaces."
    if _lines(fix) == _lines(item.current):
        return "review.fix_does_not_apply", "A suggested fix changes nothing."
    if whole is not None:
        first, last = _span(item)
        fixed = [*whole[: first - 1], *_lines(fix), *whole[last:]]
        if not _parses("\n".join(fixed)):
            return "review.fix_breaks_code", "A suggested fix breaks a file's Python syntax."
    return GOOD


def _python_text(file: FileDiff, policy: VerificationPolicy) -> list[str] | None:
    """A Python file that the diff shows whole, if it parses; not one so large that many fixes of it take too long."""
    whole = _whole_text(file) if file.path.endswith(".py") else None
    if whole is None or sum(map(len, whole)) > policy.review_parsed_chars_max:
        return None
    return whole if _parses("\n".join(whole)) else None


def _whole_text(file: FileDiff) -> list[str] | None:
    """The file, if the diff shows all of it."""
    if file.old_path is not None or not file.new_lines:
        return None
    last = max(file.new_lines)
    return [file.new_lines[number] for number in range(1, last + 1)] if len(file.new_lines) == last else None


def _parses(text: str) -> bool:
    try:
        parsing.parse(text)
    except parsing.UNREADABLE:
        return False
    return True


def _substance_fault(review: StructuredReview, files: dict[str, FileDiff], policy: VerificationPolicy) -> Fault:
    if len(review.summary.strip()) < policy.review_summary_chars_min:
        return "review.no_summary", "The review has no meaningful summary."
    found = _findings(review)
    shapes = {(item.file, _span(item), _said(item)) for item in found}
    if len(shapes) < len(found):
        return "review.repeated", "The review repeats itself."
    spoken = {item.file for item in review.examined if len(item.statement.strip()) >= policy.review_statement_chars_min}
    if not found and not files.keys() <= spoken:
        return "review.nothing_said", "The review has no finding, and no statement about each file."
    return GOOD


def _said(item: Finding) -> str:
    return (item.description if isinstance(item, ReviewIssue) else item.rationale).strip().casefold()
