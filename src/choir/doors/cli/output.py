"""How the command line speaks: tables and sentences for people, JSON for machines, exit codes for both.

Guarantees: results go to standard output, everything else to standard error; `--json` prints exactly
one JSON value; the same error always has the same exit code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from choir.doors.sdk.errors import NoNode
from choir.foundation.errors import Broken, ChoirError, NotAllowed, Unauthenticated
from choir.foundation.settings import Settings, load_settings

if TYPE_CHECKING:  # loaded when it is used: most of the time to start a command would go there
    from choir.doors.sdk.client import Client

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_NO_NODE = 3
EXIT_NOT_ALLOWED = 4
EXIT_DIFFERENCE = 5

_EXIT: list[tuple[type[ChoirError], int]] = [
    (NoNode, EXIT_NO_NODE),
    (Unauthenticated, EXIT_NOT_ALLOWED),
    (NotAllowed, EXIT_NOT_ALLOWED),
    (Broken, EXIT_DIFFERENCE),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
HomeOption = Annotated[str | None, typer.Option("--home", help="The home folder (CHOIR_HOME).", metavar="FOLDER")]
NodeOption = Annotated[str | None, typer.Option("--node", help="The node's address (CHOIR_NODE).", metavar="URL")]
KeyOption = Annotated[
    str | None, typer.Option("--key", help="Idempotency key; the same key and content have one effect.")
]

_CONNECT_S = 2.0  # a person would rather hear at once that no node is there

errors = Console(stderr=True, highlight=False, soft_wrap=True)
_json_wanted = False


def exit_code(error: ChoirError) -> int:
    """The exit code of one of our errors."""
    return next((code for category, code in _EXIT if isinstance(error, category)), EXIT_REFUSED)


def settings_of(home: str | None = None, node: str | None = None, **flags: str | None) -> Settings:
    """The settings with a command's flags."""
    return load_settings({"home": home, "node": node, **flags})


def client_of(node: str | None) -> Client:
    """A client of the node that a command talks to."""
    from choir.doors.sdk.client import Client

    return Client(node, connect_s=_CONNECT_S)


def want_json(wanted: bool) -> None:
    """Remember how errors are to be shown."""
    global _json_wanted  # noqa: PLW0603 - one process runs one command
    _json_wanted = wanted or _json_wanted


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")


def print_bytes(data: bytes) -> None:
    """Exactly these bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def print_line(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def say(text: str) -> None:
    """Progress and remarks, for people."""
    errors.print(text, style="dim", markup=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A plain table; numbers in the given columns stand to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in right else "left", overflow="fold", no_wrap=index in right)
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 240).print(table)


def show_error(error: ChoirError) -> None:
    """An error as a sentence and what to do, or as JSON."""
    if _json_wanted:
        value = {"code": error.code, "detail": str(error), "hint": error.advice, "fields": error.fields}
        json.dump({"error": value}, sys.stderr, default=str)
        sys.stderr.write("\n")
        return
    errors.print(f"choir: {error}", markup=False)
    if error.advice:
        errors.print(error.advice, markup=False)
