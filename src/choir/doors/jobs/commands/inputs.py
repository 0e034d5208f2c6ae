"""What leaves the machine with an order, and saying so before it does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.doors.cli import output
from choir.foundation.errors import Invalid
from choir.foundation.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from choir.doors.mesh.bundles import Bundle
    from choir.doors.mesh.client import MeshClient

_SHOWN_MAX = 8
_READERS = "Readers: you, the providers that get the job, and the node that verifies it."


def bundled(
    repo: Path, url: str | None, ref: str | None, *, dirty: bool, include: Sequence[str], bytes_max: int
) -> AbstractContextManager[Bundle]:
    """A bundle of a local folder, or of a repository elsewhere."""
    from choir.doors.mesh import bundles, fetched

    if url is None:
        return bundles.bundle(repo, ref=ref, dirty=dirty, include=include, bytes_max=bytes_max)
    if dirty:
        raise Invalid(what="--dirty", why="a repository that is fetched has no uncommitted changes")
    if repo != Path():
        raise Invalid(what="--repo", why="give either a folder or --repo-url")
    return fetched.bundle(url, ref or "HEAD", include=include, bytes_max=bytes_max)


def all_languages() -> tuple[str, ...]:
    from choir.bazaar.contracts.indexes import ALL_LANGUAGES

    return ALL_LANGUAGES


def bought_index(mesh: MeshClient, named: str | None) -> str | None:
    """The hash of an index that was bought before, from it or from its job."""
    from choir.doors.cli import ids
    from choir.doors.mesh.model import winner_of

    if named is None or not named.startswith("job_"):
        return named
    job = mesh.client.jobs.get(ids.whole(mesh.client, "job", named))
    winner = winner_of(job)
    if winner is None or winner.artifact is None:
        raise Invalid(what=f"--previous {named}", why="nothing was bought with that job")
    return winner.artifact


def tell_bundle(sent: Bundle) -> None:
    """Say what is sent, what is not, and who will read it."""
    source = f"commit {sent.source[:12]}{sent.source[40:]}" if len(sent.source) >= 40 else sent.source
    source += f" of {sent.origin.rpartition('@')[0]}" if sent.origin else ""
    number = count(len(sent.files), "file")
    output.say(f"Sending {number} ({sent.bytes} bytes) of {source}, without its history. {_READERS}")
    for path in sent.files[:_SHOWN_MAX]:
        output.say(f"  {path}")
    if len(sent.files) > _SHOWN_MAX:
        output.say(f"  and {len(sent.files) - _SHOWN_MAX} more")
    for path, why in sent.left_out:
        output.say(f"  not {path}: {why}")


def tell_diff(files: int, size: int, *, whole: bool) -> None:
    """Say what is sent for a review."""
    more = " and the changed files in full" if whole else ""
    output.say(f"Sending a diff of {count(files, 'file', 'files')} ({size} bytes){more}. {_READERS}")


def tell_exit_code(command: str, *, hidden: bool) -> None:
    """Say how little an exit code proves, before it is paid for."""
    from choir.doors.mesh.proof import MORE_PROOF

    output.say(f"Only the exit code of `{command}` is checked, a weak proof (V1): the patched code can force it.")
    if not hidden:
        output.say(MORE_PROOF)


def tell_extras(found: list[tuple[str, int]]) -> None:
    """Say what stronger checks cost, before they are ordered."""
    if not found:
        return
    from choir.doors.mesh.model import sat

    total = sum(amount for _, amount in found)
    named = ", ".join(f"{what} {sat(amount)}" for what, amount in found)
    output.say(
        f"Extras on top of the price: {sat(total)} SAT ({named}), once, if a delivery passes the visible checks."
    )


def compared(repo: Path, asked: str, file: Path | None, include: list[str], bytes_max: int) -> tuple[str, str, bytes]:
    """From which commit to which, and the diff."""
    from choir.doors.mesh import bundles

    if file is not None:
        return "", "", sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    base, dots, head = asked.partition("..")
    head = (head.lstrip(".") or "HEAD") if dots else "HEAD"
    found = bundles.diff(repo, base, head, include=include, bytes_max=bytes_max)
    for path, why in found.left_out:
        output.say(f"  not {path}: {why}")
    return base, head, found.data


def check_words(focus: list[str], depth: str) -> None:
    """Raise unless a review knows these words."""
    from choir.bazaar.contracts import ReviewDepth, ReviewFocus

    depths, fields = [item.value for item in ReviewDepth], [item.value for item in ReviewFocus]
    for name, word, known in (("--depth", depth, depths), *(("--focus", item, fields) for item in focus)):
        if word not in known:
            raise Invalid(what=f"{name} {word[:40]}", why=f"there are {', '.join(known)}")


def check_tools(words: list[str]) -> None:
    """Raise unless orders know these tools."""
    from choir.bazaar.contracts import AgentTool

    known = [tool.value for tool in AgentTool]
    for word in words:
        if word not in known:
            raise Invalid(what=f"--tool {word[:40]}", why=f"there are {', '.join(known)}")


def hidden_of(files: list[Path], subdir: str, test: str = "") -> tuple[list[str], dict[str, bytes]]:
    """A hidden test file lies where the commands run, under its own name, and is run alone.

    By pytest, which runs unittest's tests too, or by the runner of JavaScript that the test command uses.
    """
    import shlex

    from choir.bazaar.contracts.commands import parse_tests

    known = parse_tests(test)
    program = "python3 -m pytest -q"
    if known is not None and known.runner.is_javascript:
        program = shlex.join(known.program)
    found: dict[str, bytes] = {}
    commands = []
    for file in files:
        place = f"{subdir}/{file.name}" if subdir else file.name
        if place in found:
            raise Invalid(what=f"--hidden {file}", why="two files have that name")
        found[place] = file.read_bytes()
        commands.append(f"{program} {shlex.quote(file.name)}")
    return commands, found


def json_of(file: Path) -> dict[str, Any]:
    """A schema from a file."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise Invalid(what=f"The file {file}", why="it is not JSON") from None
    if not isinstance(value, dict):
        raise Invalid(what=f"The file {file}", why="a schema is a JSON object")
    return value


def pair(text: str) -> tuple[str, str]:
    """A variable as a person types it."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(what=f"--env {text[:40]}", why="write it like NAME=VALUE")
    return name, value
