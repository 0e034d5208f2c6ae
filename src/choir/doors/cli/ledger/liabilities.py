"""`choir ledger liabilities`: what the node owes, signed."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption


def register(app: typer.Typer) -> None:
    app.command("liabilities", epilog="Example: choir ledger liabilities > liabilities.note")(liabilities)


def liabilities(
    latest: Annotated[
        bool, typer.Option("--latest", help="Show what was signed last; everybody may, not only operators.")
    ] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Sign what the node owes to people and agents after all entries so far. Publish it: it binds the node.

    Whoever is owed something can then check with `choir account prove` that the totals include it.
    """
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.liabilities.latest() if latest else client.liabilities.publish()
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_bytes(found.note.encode())  # a note is UTF-8, whatever the terminal is
