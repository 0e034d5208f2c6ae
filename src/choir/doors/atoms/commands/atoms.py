"""`choir atom`: make, find, show and offer atoms of every kind."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.atoms.commands import shared
from choir.doors.atoms.commands.shared import (
    ROWS,
    AtomArgument,
    ClaimArgument,
    ConfidenceOption,
    KindOption,
    LimitOption,
    PointerArgument,
    RelationOption,
    StateOption,
)
from choir.doors.cli.output import AsJson, NodeOption

app = typer.Typer(help="Make, find and show atoms of every kind.", no_args_is_help=True)


@app.command("extract", epilog="Example: choir atom extract sha256:e3b0…@120-188")
def extract(pointer: PointerArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Make an extract: a pointer to a span of a source."""
    shared.make(node, as_json, lambda client: client.atoms.extract(pointer))


@app.command("binding", epilog="Example: choir atom binding sha256:9f86… sha256:e3b0…@120-188")
def binding(
    claim: ClaimArgument,
    pointer: PointerArgument,
    relation: RelationOption = "supports",
    confidence: ConfidenceOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Bind a claim to a span that supports, contradicts or qualifies it."""
    shared.bind(claim, pointer, relation, confidence, node, as_json)


@app.command("omission", epilog="Example: choir atom omission sha256:9f86… 'Leaves out rain.' sha256:e3b0…@120-188")
def omission(
    about: Annotated[str, typer.Argument(help="Hash of an article's version or a claim.", metavar="ABOUT")],
    statement: Annotated[str, typer.Argument(help="What is missing.", metavar="STATEMENT")],
    pointers: Annotated[list[str], typer.Argument(help="Where it is said.", metavar="POINTER...")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Say what is missing about something, with pointers to it."""
    shared.make(node, as_json, lambda client: client.atoms.omission(about, statement, pointers))


@app.command("hyperthesis", epilog="Example: choir atom hyperthesis 'Only lab data.' --bound 'Spans above 500 m.'")
def hyperthesis(
    statement: Annotated[str, typer.Argument(help="The blind spot or exploit pattern.", metavar="STATEMENT")],
    bound: Annotated[str, typer.Option("--bound", help="How far it reaches.", metavar="TEXT")],
    about: Annotated[str | None, typer.Option("--about", help="Hash of what it is about.", metavar="ATOM")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Disclose a blind spot or an exploit pattern, and how far it reaches."""
    shared.make(node, as_json, lambda client: client.atoms.hyperthesis(statement, bound, about=about))


@app.command(
    "conjecture",
    epilog="Example: choir atom conjecture sha256:9f86… --test 'tunnel at 20 m/s' --edge 'below 5 m/s'"
    " --change 'the hum stops' --scope 'steel decks'",
)
def conjecture(
    claim: ClaimArgument,
    test: Annotated[str, typer.Option("--test", help="How it can be tested.", metavar="TEXT")],
    edge: Annotated[str, typer.Option("--edge", help="Where it would stop to hold.", metavar="TEXT")],
    change: Annotated[str, typer.Option("--change", help="Which change of observation it expects.", metavar="TEXT")],
    scope: Annotated[str, typer.Option("--scope", help="Where it holds.", metavar="TEXT")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Make a conjecture: a claim with its test."""
    shared.make(
        node,
        as_json,
        lambda client: client.atoms.conjecture(claim, test=test, edge=edge, expected_change=change, scope=scope),
    )


@app.command("ls", epilog="Example: choir atom ls --kind BINDING --state PROMOTED")
def ls(
    kind: KindOption,
    state: StateOption = None,
    limit: LimitOption = ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List atoms of a kind, newest first."""
    shared.list_(node, as_json, kind, state, limit)


@app.command("find", epilog="Example: choir atom find 'wind tunnel' --kind HYPERTHESIS")
def find(
    words: Annotated[str, typer.Argument(help="Words.", metavar="WORDS")],
    kind: Annotated[str | None, typer.Option("--kind", help="Only of this kind.", metavar="KIND")] = None,
    state: StateOption = None,
    limit: LimitOption = ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Find atoms by their words, best first."""
    shared.find(node, as_json, words, kind, state, limit)


@app.command("show", epilog="Example: choir atom show sha256:9f86…")
def show(atom: AtomArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show an atom: content, state, history, signatures, and what rests on it."""
    shared.show_detail(atom, node, as_json)


@app.command("offer", epilog="Example: choir atom offer sha256:9f86…")
def offer(atom: AtomArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Offer an atom, and all that it rests on, to everybody's eyes. This cannot be undone."""
    shared.make(node, as_json, lambda client: client.atoms.offer(atom))
