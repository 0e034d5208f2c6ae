"""`choir claim`: make claims and bind them to evidence."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.atoms.commands import shared
from choir.doors.atoms.commands.shared import (
    ROWS,
    ClaimArgument,
    ConfidenceOption,
    LimitOption,
    PointerArgument,
    RelationOption,
    StateOption,
)
from choir.doors.cli.output import AsJson, NodeOption

app = typer.Typer(help="Make claims and bind them to evidence.", no_args_is_help=True)


@app.command("add", epilog="Example: choir claim add 'Bridges hum in the wind.'")
def add_claim(
    text: Annotated[str, typer.Argument(help="One statement.", metavar="TEXT")],
    scope: Annotated[str | None, typer.Option("--scope", help="Where it holds.", metavar="TEXT")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a claim. The same statement is the same atom."""
    shared.make(node, as_json, lambda client: client.atoms.claim(text, scope=scope))


@app.command("bind", epilog="Example: choir claim bind sha256:9f86… sha256:e3b0…@120-188 --relation supports")
def bind(
    claim: ClaimArgument,
    pointer: PointerArgument,
    relation: RelationOption = "supports",
    confidence: ConfidenceOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Bind a claim to a span that supports, contradicts or qualifies it."""
    shared.bind(claim, pointer, relation, confidence, node, as_json)


@app.command("ls", epilog="Example: choir claim ls --state PROMOTED")
def ls_claims(
    state: StateOption = None, limit: LimitOption = ROWS, node: NodeOption = None, as_json: AsJson = False
) -> None:
    """List claims, newest first."""
    shared.list_(node, as_json, "CLAIM", state, limit)


@app.command("find", epilog="Example: choir claim find 'bridges wind'")
def find_claims(
    words: Annotated[str, typer.Argument(help="Words.", metavar="WORDS")],
    state: StateOption = None,
    limit: LimitOption = ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Find claims by their words, best first."""
    shared.find(node, as_json, words, "CLAIM", state, limit)


@app.command("show", epilog="Example: choir claim show sha256:9f86…")
def show_claim(claim: ClaimArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a claim: its state, history and evidence."""
    shared.show_detail(claim, node, as_json)
