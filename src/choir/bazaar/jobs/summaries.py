"""What was ordered, in one line: the command, the title and its test, what is to be reviewed, the prompt.

Guarantees: pure; one line of printable text, cut; nothing that is not in the request itself, so whoever may read the
order learns nothing more. It is kept beside the job, in no hash, and is erased with its buyer.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from choir.bazaar.jobs.model import JobType

CHARS_MAX = 120  # of a line that stands in lists; the migration allows a little more
_COMMIT_CHARS = 8
_BY_SHELL = ("sh", "-c")


def summary_of(type_: JobType, request: Mapping[str, Any]) -> str:
    """A line about a request in its canonical form."""
    match type_:
        case JobType.SANDBOX_RUN:
            return one_line(command_line(request.get("argv", ())))
        case JobType.PATCH_GEN:
            return _patch(request)
        case JobType.CODE_REVIEW:
            return _review(request)
        case JobType.TEXT_GEN:
            return one_line(request.get("prompt", ""))
        case JobType.REPO_INDEX:
            return _index(request)


def command_line(argv: Sequence[str]) -> str:
    """A command as somebody would type it; what a shell was given to run is shown as it was typed."""
    if len(argv) == len(_BY_SHELL) + 1 and tuple(argv[:-1]) == _BY_SHELL:
        return argv[-1]
    return shlex.join(argv)


def _patch(request: Mapping[str, Any]) -> str:
    title, test, subdir = (request.get(name, "") for name in ("title", "test_command", "subdir"))
    where = " in ".join(filter(None, (test, subdir)))
    what = f"{title} ({where})" if where else title
    return one_line(": ".join(filter(None, (request.get("repo_url", ""), what))))


def _review(request: Mapping[str, Any]) -> str:
    commit = request.get("head_commit", "")[:_COMMIT_CHARS]
    of = request.get("repo_url", "") or (f"commit {commit}" if commit else "")
    what = ", ".join(filter(None, (request.get("depth", ""), *request.get("focus", ()))))
    return one_line("; ".join(filter(None, (of, what, request.get("instructions", "")))))


def _index(request: Mapping[str, Any]) -> str:
    of = request.get("repo_url", "") or f"commit {request.get('base_commit', '')[:_COMMIT_CHARS]}"
    more = ["with embeddings"] * bool(request.get("embeddings"))
    return one_line("; ".join((of, ", ".join((*request.get("languages", ()), *more)))))


def one_line(text: str) -> str:
    """A text without line ends and what could steer a terminal, cut at the end."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 10 * CHARS_MAX]).split())
    return line if len(line) <= CHARS_MAX else f"{line[: CHARS_MAX - 1].rstrip()}…"
