"""The review worker: CodeReview by static analysers, without a model.

ruff (faults, performance, style), bandit (security), vulture (dead code), detect-secrets (secrets in any file) and a
look at data files. Only what lies on lines that the diff adds is reported, with a fix where the tool has one. Each
file is answered for: what looked at it, or that nothing here can.

Guarantees: what the review cites stands in the diff, word for word; the analysers run in the sandbox on the changed
files alone, with none of the repository's configuration and no network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from choir.bazaar.contracts import (
    Approval,
    CodeReviewRequest,
    CodeReviewResult,
    ReviewFocus,
    ReviewIssue,
    Severity,
    Statement,
    StructuredReview,
)
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.diffs import FileDiff
from choir.bazaar.verification.model import Order
from choir.bazaar.verification.reviews import files_of
from choir.bazaar.verification.trees import DoesNotApply, NoBase, apply, check_out
from choir.bazaar.workers.findings import RULES, Finding, read_all
from choir.bazaar.workers.inside import source
from choir.bazaar.workers.model import BrokeDown, IsCancelled, NotDone, NotMine, WorkOrder, WorkProduct
from choir.bazaar.workers.shop import PYTHON, TOOLS, Workshop
from choir.foundation.errors import Invalid
from choir.foundation.words import count
from choir.sandbox.files import safe_path
from choir.sandbox.model import InFile, Limits, Spec

_RANK = [Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO]
_CODE_CHARS_MAX = 20_000
_FILE_BYTES_MAX = 2_000_000
_PYTHON_FILES = (".py", ".pyi")
_DATA_FILES = (".json", ".toml", ".yml", ".yaml")


class ReviewWorker:
    """CodeReview by analysers."""

    name = "review"
    types = frozenset({JobType.CODE_REVIEW})

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    def problem(self) -> str:
        return self._shop.lacking()

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        request = order.request
        if not isinstance(request, CodeReviewRequest) or order.diff is None:
            raise NotMine(worker=self.name, why="it only reviews diffs")
        files = files_of(Order(order.type, request, diff=order.diff), self._shop.verification)
        files = {path: file for path, file in files.items() if _can_be_named(path)}
        focus = ", ".join(item.value for item in request.focus)
        trajectory.user(
            f"Review {count(len(files), 'file')}, depth {request.depth.value}, focus {focus}. {request.instructions}"
        )
        with self._shop.scratch() as name:
            texts = self._texts(order, files, Path(name), cancelled)
            said = self._analyse(order, texts, trajectory, cancelled)
        found = read_all(said["found"], {path: text.split("\n") for path, text in texts.items()})
        review = compose(request, files, texts, found, said["failed"], self._shop.verification.review_findings_max)
        return WorkProduct(review.to_bytes(), CodeReviewResult(), review.summary)

    def _texts(
        self, order: WorkOrder, files: Mapping[str, FileDiff], folder: Path, cancelled: IsCancelled
    ) -> dict[str, str]:
        """The changed files as they are after the change, as far as they can be had."""
        tree = self._tree(order, folder, cancelled)
        found = {}
        for path in list(files)[: self._shop.policy.analysis_files_max]:
            data = _whole(files[path]) if tree is None else _read(tree, path)
            if data is not None and len(data) <= _FILE_BYTES_MAX:
                found[path] = data.decode("utf-8", "replace").replace("\r\n", "\n")
        return found

    def _tree(self, order: WorkOrder, folder: Path, cancelled: IsCancelled) -> Path | None:
        """The head commit if the bundle has it, else the base with the diff applied, else nothing."""
        request, runner = order.request, self._shop.runner
        assert isinstance(request, CodeReviewRequest)
        assert order.diff is not None
        if order.repository is None:
            return None
        if request.head_commit:
            try:
                return check_out(runner, order.repository, request.head_commit, folder / "head", cancelled)
            except NoBase:
                if not request.base_commit:
                    raise
        if not request.base_commit:
            return None
        base = check_out(runner, order.repository, request.base_commit, folder / "base", cancelled)
        try:
            return apply(runner, base, order.diff, folder / "applied", self._shop.verification, cancelled)[0]
        except DoesNotApply:
            raise NotDone(why="the diff does not apply to the base commit") from None

    def _analyse(
        self, order: WorkOrder, texts: Mapping[str, str], trajectory: TrajectoryWriter, cancelled: IsCancelled
    ) -> dict[str, Any]:
        request, policy = order.request, self._shop.policy
        assert isinstance(request, CodeReviewRequest)
        plan = {
            "rules": RULES[request.depth],
            "all": [f"repository/{path}" for path in texts],
            "python": [f"repository/{path}" for path in texts if path.endswith(_PYTHON_FILES)],
        }
        spec = Spec(
            argv=(PYTHON, "-I", "-c", source("analyse"), TOOLS),
            limits=Limits(
                wall_s=self._shop.wall_s(order, policy.analysis_wall_s, "the analysers"),
                memory_bytes=policy.analysis_memory_bytes,
                output_bytes=self._shop.sandbox.output_bytes_max,
            ),
            files=(
                InFile("plan.json", json.dumps(plan).encode()),
                *(InFile(f"repository/{path}", text.encode()) for path, text in texts.items()),
            ),
            mounts=(self._shop.analysers(),),
            owner=order.job,
        )
        result = self._shop.run(spec, cancelled, "the analysers")
        try:
            said: dict[str, Any] = json.loads(result.stdout)
            counts = {tool: len(items) for tool, items in said["found"].items()}
        except (ValueError, KeyError, AttributeError, TypeError):
            raise BrokeDown(why=f"the analysers ended with code {result.exit_code} and said nothing") from None
        trajectory.tool("Analyse", ", ".join(texts), f"{counts}, failed: {said['failed']}")
        return said


def _can_be_named(path: str) -> bool:
    """A name that is no UTF-8 cannot stand in a review."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(tree: Path, path: str) -> bytes | None:
    """A changed file of a tree that holds plain files and links that stay inside; links are not read."""
    try:
        place = tree / safe_path(path)
    except Invalid:
        return None
    linked = any((tree / parent).is_symlink() for parent in PurePosixPath(path).parents) or place.is_symlink()
    return place.read_bytes() if not linked and place.is_file() else None


def _whole(file: FileDiff) -> bytes | None:
    """A new file, which the diff shows all of."""
    if file.old_path is not None or file.new_path is None or len(file.new_lines) != max(file.new_lines, default=0):
        return None
    try:
        safe_path(file.path)
    except Invalid:
        return None
    return "".join(f"{file.new_lines[number]}\n" for number in sorted(file.new_lines)).encode()


# --- the review ---


def compose(
    request: CodeReviewRequest,
    files: Mapping[str, FileDiff],
    texts: Mapping[str, str],
    found: list[Finding],
    failed: Mapping[str, Any],
    most: int,
) -> StructuredReview:
    """The review. Pure."""
    wanted = [item for item in found if ReviewFocus.ALL in request.focus or item.category in request.focus]
    made = [issue for item in wanted if (issue := _issue(item, files[item.path], texts[item.path])) is not None]
    issues = sorted(_distinct(made), key=lambda issue: (_RANK.index(issue.severity), issue.file, issue.line_range))
    return StructuredReview(
        summary=_summary(files, texts, issues, failed, most),
        approval_status=_approval(issues),
        issues=tuple(issues[:most]),
        examined=tuple(_statement(path, file, path in texts, issues) for path, file in files.items()),
    )


def _quoted(lines: list[str]) -> str:
    """Lines as a review quotes them. A blank one at the end has an end of its own, or it would not be counted."""
    text = "\n".join(lines)
    return f"{text}\n" if len(lines) > 1 and not lines[-1] else text


def _issue(item: Finding, file: FileDiff, text: str) -> ReviewIssue | None:
    """A finding on lines that the diff adds, cited as the diff has them; nothing if it lies elsewhere."""
    lines = text.split("\n")
    touched = [number for number in range(item.first, item.last + 1) if number in file.added]
    if not touched:
        return None
    fix = item.fix
    if (
        fix is not None
        and _stand(file, lines, fix.first, fix.last)
        and "\n".join(lines[fix.first - 1 : fix.last]).strip()
    ):
        current = _quoted(lines[fix.first - 1 : fix.last])
        said = item.message if fix.safe else f"{item.message}. The fix may change what the code does."
        suggested = _quoted(list(fix.new))
        if len(current) <= _CODE_CHARS_MAX and len(suggested) <= _CODE_CHARS_MAX:
            return ReviewIssue(item.severity, item.category, item.path, (fix.first, fix.last), said, current, suggested)
    first, last = touched[0], touched[0]
    while last + 1 in touched:
        last += 1
    if not _stand(file, lines, first, last):
        return None
    return ReviewIssue(item.severity, item.category, item.path, (first, last), item.message)


def _stand(file: FileDiff, lines: list[str], first: int, last: int) -> bool:
    """Whether the diff shows these lines, and as they are in the file."""
    return last <= len(lines) and all(file.lines.get(number) == lines[number - 1] for number in range(first, last + 1))


def _distinct(issues: list[ReviewIssue]) -> list[ReviewIssue]:
    kept = {(issue.file, issue.line_range, issue.description.strip().casefold()): issue for issue in reversed(issues)}
    return list(kept.values())


def _approval(issues: list[ReviewIssue]) -> Approval:
    if any(issue.severity in (Severity.CRITICAL, Severity.HIGH) for issue in issues):
        return Approval.REQUEST_CHANGES
    return Approval.COMMENT if issues else Approval.APPROVE


def _summary(
    files: Mapping[str, FileDiff],
    texts: Mapping[str, str],
    issues: list[ReviewIssue],
    failed: Mapping[str, Any],
    most: int,
) -> str:
    counts = [f"{sum(issue.severity is rank for issue in issues)} {rank.value}" for rank in _RANK]
    shown = ", ".join(count for count in counts if not count.startswith("0 ")) or "none"
    parts = [
        f"Static analysis of {len(texts)} of {count(len(files), 'changed file')}:"
        f" {count(len(issues), 'issue')} on added lines ({shown})."
        " No model and no person has read the change; analysers see known patterns only."
    ]
    if failed:
        parts.append(f"These analysers failed and found nothing for that reason: {', '.join(sorted(failed))}.")
    if len(issues) > most:
        parts.append(f"The {most} gravest are listed.")
    return " ".join(parts)


def _statement(path: str, file: FileDiff, was_read: bool, issues: list[ReviewIssue]) -> Statement:
    found = count(sum(issue.file == path for issue in issues), "issue")
    lines = count(len(file.added), "added line")
    if file.new_path is None:
        said = "The file is deleted; the analysers look at files that are there."
    elif not was_read:
        said = "The file is incomplete or too large, so it was not analysed."
    elif path.endswith(_PYTHON_FILES):
        said = f"ruff, bandit, vulture and detect-secrets checked {lines}: {found}."
    else:
        what = "secrets, unfinished merges and data that cannot be read"
        what = what if path.endswith(_DATA_FILES) else "secrets and unfinished merges"
        said = f"{lines}, looked at for {what}, and for nothing else: {found}."
    return Statement(path, said)
