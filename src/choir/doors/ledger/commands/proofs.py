"""`choir ledger checkpoint|prove`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.ledger.commands.entries import entry_named
from choir.foundation.errors import NotFound
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.ledger.shapes import ConsistencyOut
    from choir.doors.sdk.client import Client


class BeyondTheJournal(NotFound):
    """A proof was asked for from a checkpoint that cannot be there yet."""

    code = "cli.beyond_the_journal"
    sentence = "The journal has {journal}, so there is no checkpoint over {size}."


def register(app: typer.Typer) -> None:
    app.command("checkpoint", epilog="Example: choir ledger checkpoint > checkpoint.note")(checkpoint)
    app.command("prove", epilog="Example: choir ledger prove entry_01h… > proof.json")(prove)


def checkpoint(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Sign a checkpoint over everything posted so far. Keep it: it later proves whether history was changed."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.checkpoint()
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_bytes(found.note.encode())  # a note is UTF-8, whatever the terminal is


def prove(
    entry: Annotated[str | None, typer.Argument(help="Its id, such as entry_01h…, or number.", metavar="ENTRY")] = None,
    consistency: Annotated[
        int | None,
        typer.Option(
            help="Prove instead that the journal only appends to the checkpoint of this size.", metavar="SIZE"
        ),
    ] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a proof that an entry is in the journal; auditor/choir_verify.py checks it."""
    output.want_json(as_json)
    if (entry is None) == (consistency is None):
        raise typer.BadParameter("give an entry, or --consistency SIZE")
    if consistency is not None and consistency < 1:
        raise typer.BadParameter("--consistency takes a checkpoint size of at least 1")
    with output.client_of(node) as client:
        if entry is not None:
            proof = client.prove(entry_named(client, entry)).model_dump()
        else:
            assert consistency is not None
            proof = _consistency(client, consistency).model_dump(by_alias=True)
    output.print_json(proof)


def _consistency(client: Client, size: int) -> ConsistencyOut:
    entries = client.node().entries
    if size > entries:
        raise BeyondTheJournal(size=size, journal=count(entries, "entry", "entries"))
    return client.prove_consistency(size)
