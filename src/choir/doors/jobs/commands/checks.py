"""Outside checks as a buyer types them: a command, and what it must print.

    --check 'python3 app.py' --expect expected.txt
    --hidden-check "python3 -c 'import calc; print(calc.add(20, 22))'" --expect-hash 73475c…

Each `--expect` or `--expect-hash` belongs to the `--check` or `--hidden-check` before it. Guarantees: an expectation
that could belong to another command than was meant is refused; of an expected file only its hash leaves the machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.bazaar.contracts import HiddenCheck, OutsideCheck

_FILE_BYTES_MAX = 100_000_000
_PREFIX = "sha256:"
_COMMANDS = {"check": "--check", "hidden_check": "--hidden-check"}
_EXPECTED = {"expect": "--expect", "expect_hash": "--expect-hash"}

CheckOption = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        help="A command whose output must be what --expect or --expect-hash after it says; may be repeated.",
        metavar="COMMAND",
    ),
]
HiddenCheckOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hidden-check",
        help="The same, seen by the node alone. Without --expect it must exit with code 0.",
        metavar="COMMAND",
    ),
]
ExpectOption = Annotated[
    list[Path] | None,
    typer.Option("--expect", help="A file with all that the check before it must print.", metavar="FILE"),
]
ExpectHashOption = Annotated[
    list[str] | None,
    typer.Option("--expect-hash", help="The SHA-256 of all that the check before it must print.", metavar="HASH"),
]


@dataclass
class _Typed:
    """A command, and the hash of what it must print, once that is known."""

    kind: str
    command: str
    expected: str | None = None


def checks_of(
    order: Iterable[str], given: Mapping[str, Sequence[str | Path] | None]
) -> tuple[list[OutsideCheck], list[HiddenCheck]]:
    """Visible and hidden outside checks, paired by the order in which options were typed."""
    from choir.bazaar.contracts import HiddenCheck, OutsideCheck

    typed = _paired(order, {name: iter(values or ()) for name, values in given.items()})
    for item in typed:
        if item.kind == "check" and item.expected is None:
            raise Invalid(what=f"--check '{item.command[:60]}'", why="put --expect FILE or --expect-hash HASH after it")
    visible = [OutsideCheck(item.command, item.expected or "") for item in typed if item.kind == "check"]
    return visible, [HiddenCheck(item.command, item.expected or "") for item in typed if item.kind == "hidden_check"]


def _paired(order: Iterable[str], given: Mapping[str, Iterable[str | Path]]) -> list[_Typed]:
    values = {name: iter(each) for name, each in given.items()}
    typed: list[_Typed] = []
    for name in order:
        if name in _COMMANDS:
            typed.append(_Typed(name, str(next(values[name]))))
        elif name in _EXPECTED:
            value = next(values[name])
            what = f"{_EXPECTED[name]} {str(value)[:60]}"
            if not typed:
                raise Invalid(what=what, why="it belongs after the --check or --hidden-check that it is about")
            if typed[-1].expected is not None:
                raise Invalid(what=what, why=f"'{typed[-1].command[:60]}' has an expected output already")
            typed[-1].expected = _file_hash(what, Path(value)) if name == "expect" else _hash(what, str(value))
    return typed


def _file_hash(what: str, file: Path) -> str:
    try:
        if file.stat().st_size > _FILE_BYTES_MAX:
            raise Invalid(what=what, why=f"it has more than {_FILE_BYTES_MAX} bytes; give its --expect-hash")
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise Invalid(what=what, why=error.strerror or "it cannot be read") from None


def _hash(what: str, text: str) -> str:
    found = text.strip().lower().removeprefix(_PREFIX)
    if len(found) != 64 or not set(found) <= set("0123456789abcdef"):
        raise Invalid(what=what, why="it must be 64 hex digits, as `sha256sum` prints them")
    return found


def share_bps(text: str | None) -> int:
    """A share such as 60% in ten-thousandths; none is 0."""
    if text is None:
        return 0
    number = text.strip().removesuffix("%").strip()
    whole, _, part = number.partition(".")
    if not whole.isdecimal() or len(whole) > 3 or (part and not part.isdecimal()) or len(part) > 2:
        raise Invalid(what=f"--mutation-floor {text[:20]}", why="write it like 60%")
    bps = int(whole) * 100 + int(part.ljust(2, "0") or 0)
    if bps > 10_000:
        raise Invalid(what=f"--mutation-floor {text[:20]}", why="it must be from 0% to 100%")
    return bps
