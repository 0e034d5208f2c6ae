"""Rules about what a patch changed. Pure: changes in, a reason or a number out.

Every rule gives a reason code and a sentence without a piece of the artifact, or nothing.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from choir.bazaar.contracts.patches import PatchGenRequest
from choir.bazaar.contracts.paths import fits_any
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import decision
from choir.bazaar.verification import syntax as parsing
from choir.bazaar.verification.diffs import Headers
from choir.bazaar.verification.trees import Change, Entry, Kind
from choir.sandbox.files import stays_inside
from choir.sandbox.repositories import is_plain

Fault = tuple[str, str]  # reason, sentence
GOOD: Fault = ("", "")
LINK = "120000"
LINK_ESCAPES: Fault = ("patch.link_escapes", "The patch adds a link that points outside the repository.")
_MODES = {"100644", "100755", LINK}
_COMPILED = {".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".exe", ".o", ".a"}
_GITLINK = "160000"
_MENTION_CHARS_MIN = 3
_LINES_EXACT = 2_000  # files beyond are compared without their commonest lines


def header_fault(headers: Headers, policy: VerificationPolicy) -> Fault:
    """What the headers alone forbid. Passing this allows nothing."""
    for path in headers.paths:
        parts = path.replace("\\", "/").split("/")
        if path.startswith(("/", "\\")) or ".." in parts:
            return "patch.path_escapes", "A path of the diff points outside the repository."
        if not all(is_plain(part) for part in parts):
            return "patch.git_internals", "The diff names git's own files."
    if _GITLINK in headers.modes:
        return "patch.submodule", "The diff adds or moves a submodule, which cannot be inspected."
    if not headers.modes <= _MODES:
        return "patch.mode_not_allowed", "The diff sets a file mode other than plain, executable or link."
    if headers.literal_bytes > policy.patch_grown_bytes_max:
        return "patch.too_large", "The binary parts of the diff exceed the size limit."
    return GOOD


def size_fault(changes: Sequence[Change], policy: VerificationPolicy) -> Fault:
    if not changes:
        return "patch.empty", "The diff changes nothing."
    if len(changes) > policy.patch_files_max:
        return "patch.too_many_files", f"The patch changes more than {policy.patch_files_max} files."
    if sum(len(change.after.content) for change in changes if change.after) > policy.patch_grown_bytes_max:
        return "patch.too_large", "The changed files are larger than the limit."
    return GOOD


def path_fault(
    changes: Iterable[Change], before: Collection[str], request: PatchGenRequest, moved: Collection[str] = ()
) -> Fault:
    """Only allowed paths, no disallowed one, none that another file system would read as a different one.

    What a patch copies or renames is touched on both sides, though a file that was copied has not changed.
    """
    taken = {_folded(path): path for path in before}
    for change in changes:
        if not is_plain(change.path):
            return "patch.git_internals", "The patch changes git's own files."
        if not _is_clear(change.path) or taken.setdefault(_folded(change.path), change.path) != change.path:
            return (
                "patch.path_ambiguous",
                "A path has unusual characters or differs from another only by case or Unicode form.",
            )
        if fault := _order_fault(change.path, "changes", request):
            return fault
    faults = (_order_fault(path, "copies or renames", request) for path in sorted(moved))
    return next((fault for fault in faults if fault), GOOD)


def _order_fault(path: str, does: str, request: PatchGenRequest) -> Fault | None:
    if not fits_any(path, request.allowed_paths):
        return "patch.path_not_allowed", f"The patch {does} a file outside the allowed paths."
    if fits_any(path, request.disallowed_paths, fold=True):
        return "patch.path_disallowed", f"The patch {does} a file that the order disallows."
    return None


def link_fault(changes: Iterable[Change]) -> Fault:
    """A patch makes no links. One that stays inside could still lead a later write to a file that decides."""
    for change in changes:
        if change.after is not None and change.after.link is not None:
            if not stays_inside(change.path, change.after.link):
                return LINK_ESCAPES
            return "patch.link", "The patch adds or moves a symbolic link."
    return GOOD


def compiled_fault(changes: Iterable[Change]) -> Fault:
    """Code that nobody can read stands in for the source beside it."""
    for change in changes:
        place = PurePosixPath(change.path)
        if change.after is not None and (place.suffix.lower() in _COMPILED or "__pycache__" in place.parts):
            return "patch.compiled_code", "The patch adds compiled code, which cannot be inspected."
    return GOOD


def syntax_fault(changes: Iterable[Change]) -> Fault:
    """Python that could be read before and cannot be read any more works for nobody."""
    for change in changes:
        both = change.before is not None and change.after is not None and change.path.endswith(".py")
        if both and _meaning(change.before) is not None and _meaning(change.after) is None:
            return "patch.unreadable_code", "A Python file that could be parsed before the patch cannot be parsed now."
    return GOOD


def substance_fault(changes: Iterable[Change]) -> Fault:
    if all(_without_space(change.before) == _without_space(change.after) for change in changes):
        return "patch.whitespace_only", "The patch changes only white space."
    return GOOD


def _is_clear(path: str) -> bool:
    """Whether every system reads the path as the same one."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    odd = any(unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") for sign in path)
    parts = path.split("/")
    trailing = any(part.endswith((".", " ")) or part.startswith(" ") for part in parts)
    return not odd and not trailing and not set('\\:*?"<>|') & set(path) and _normal(path) == path


def _normal(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())


def _without_space(entry: Entry | None) -> bytes | None:
    return None if entry is None else b"".join(entry.content.split())


def lines(changes: Iterable[Change]) -> tuple[int, int]:
    """How many lines a patch adds and deletes, by comparing what was with what is."""
    added = deleted = 0
    for change in changes:
        before, after = _lines_of(change.before), _lines_of(change.after)
        for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=len(before) > _LINES_EXACT).get_opcodes():
            if kind != "equal":
                deleted, added = deleted + b - a, added + d - c
    return added, deleted


def _lines_of(entry: Entry | None) -> list[bytes]:
    return [] if entry is None or entry.link is not None else entry.content.splitlines()


# --- units ------------------------------------------------------------------------------------------


def counted(changes: Sequence[Change]) -> list[Change]:
    """The changes that a patch is paid for.

    Not: white space, comments and docstrings alone; files that only move; the same new content twice; tests that the
    provider wrote, which prove nothing; new files that no other changed file mentions.
    """
    seen: set[bytes] = set()
    gone = {change.before.content for change in changes if change.after is None and change.before is not None}
    found = []
    for change in changes:
        if change.after is None or decision.is_test_change(change) or not _has_substance(change):
            continue
        shape = _without_space(change.after) or b""
        moved = change.before is None and change.after.content in gone
        if shape in seen or moved or (change.kind is Kind.ADDED and not _is_mentioned(change, changes)):
            continue
        seen.add(shape)
        found.append(change)
    if not found and changes:  # a deletion or a move can be all that was asked for
        return [change for change in changes if not decision.is_test_change(change)][:1]
    return found


def padding(changes: Sequence[Change]) -> int:
    """How many changed files add nothing. Moves, deletions and the provider's own tests are no padding."""
    paid = {change.path for change in counted(changes)}
    gone = {change.before.content for change in changes if change.after is None and change.before is not None}
    return sum(
        change.path not in paid
        and change.after is not None
        and not decision.is_test_change(change)
        and not (change.before is None and change.after.content in gone)
        for change in changes
    )


def _is_mentioned(change: Change, changes: Sequence[Change]) -> bool:
    """Whether a new file's name stands in another changed file; alone it may be all that was asked for."""
    if sum(not decision.is_test_change(other) for other in changes) == 1:
        return True
    parts = change.path.rsplit("/", 2)
    stem = parts[-1].split(".")[0]
    word = parts[-2] if stem == "__init__" and len(parts) > 1 else stem
    if len(word) < _MENTION_CHARS_MIN:
        return False
    others = (other.after.content for other in changes if other.after and other.path != change.path)
    return any(word.encode() in content for content in others)


def _has_substance(change: Change) -> bool:
    if _without_space(change.before) == _without_space(change.after):
        return False
    if not change.path.endswith(".py"):
        return bool(_without_space(change.after))
    before, after = _meaning(change.before), _meaning(change.after)
    return after is None or after not in (before, "")


def _meaning(entry: Entry | None) -> str | None:
    """Python without comments, docstrings and layout; None if it is no Python."""
    if entry is None:
        return ""
    try:
        tree = parsing.parse(entry.content)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [item for item in body if not _is_bare_text(item)]  # type: ignore[attr-defined]
        return "" if not tree.body else ast.dump(tree)
    except parsing.UNREADABLE:
        return None


def _is_bare_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
