"""`choir ledger liabilities`: what the node owes, signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption

if TYPE_CHECKING:
    from choir.doors.liabilities.shapes import LiabilitiesUnderWayOut


_WAIT_S = 900


def register(app: typer.Typer) -> None:
    app.command("liabilities", epilog="Example: choir ledger liabilities > liabilities.note")(liabilities)


def liabilities(
    latest: Annotated[
        bool, typer.Option("--latest", help="Show the last signed liabilities; anyone may, not only operators.")
    ] = False,
    wait: Annotated[
        int, typer.Option(help="Seconds to wait; the node continues anyway.", min=0, metavar="SECONDS")
    ] = _WAIT_S,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Sign the node's liabilities to people and agents after all entries so far. Publish them: they bind the node.

    The node also does so every ledger.liabilities_every_s seconds. Anyone who is owed something can then
    check with `choir account prove` that the totals include it.
    """
    from choir.doors.liabilities.publication import published

    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.liabilities.latest() if latest else published(client, timeout_s=wait, on_wait=_say_so)
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_bytes(found.note.encode())  # a note is UTF-8, whatever the terminal is


def _say_so(under_way: LiabilitiesUnderWayOut) -> None:
    output.say(
        f"The node is computing its liabilities after entry {under_way.size}; with many accounts this takes minutes."
    )
    if under_way.problem is not None:
        output.say(f"The last attempt failed and is being retried: {under_way.problem}")
