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
    from choir.doors.mesh.bundles import Bundle

_SHOWN_MAX = 8
_READERS = "Readers: you, the providers that get the job, and the node that verifies it."


def tell_bundle(sent: Bundle) -> None:
    """Say what is sent, what is not, and who will read it."""
    source = f"commit {sent.source[:12]}{sent.source[40:]}" if len(sent.source) >= 40 else sent.source
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


def hidden_of(files: list[Path], subdir: str) -> tuple[list[str], dict[str, bytes]]:
    """A hidden test file lies where the commands run, under its own name, and is run by pytest alone."""
    import shlex

    found: dict[str, bytes] = {}
    commands = []
    for file in files:
        place = f"{subdir}/{file.name}" if subdir else file.name
        if place in found:
            raise Invalid(what=f"--hidden {file}", why="two files have that name")
        found[place] = file.read_bytes()
        commands.append(f"python3 -m pytest -q {shlex.quote(file.name)}")
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
