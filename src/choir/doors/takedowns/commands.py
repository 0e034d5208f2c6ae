"""`choir takedown`: for operators, what is taken out of public view."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.takedowns.shapes import TakedownOut

app = typer.Typer(help="Take an article or a source out of public view, or put it back.", no_args_is_help=True)

_CATEGORIES = "legal, copyright, privacy, abuse or malware"
ReasonOption = Annotated[str, typer.Option("--reason", help="For the record; only operators see it.", metavar="TEXT")]


@app.command(epilog="Example: choir --operator takedown add article_01h… --category legal --reason 'order 12 C 34/26'")
def add(
    subject: Annotated[str, typer.Argument(help="An article's id, or a source's hash.", metavar="SUBJECT")],
    category: Annotated[str, typer.Option("--category", help=f"Shown to all: {_CATEGORIES}.", metavar="CATEGORY")],
    reason: ReasonOption,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Take an article or a source out of public view. Nothing is deleted, and no money moves."""
    from choir.doors.takedowns.shapes import CategoryText

    output.want_json(as_json)
    with output.reading_options():
        if category not in get_args(CategoryText):
            raise Invalid(what=f"--category {category[:40]}", why=f"there are {_CATEGORIES}")
    with output.client_of(node) as client:
        found = client.takedowns.add(subject, category, reason)
    _show(found, as_json=as_json)


@app.command("ls", epilog="Example: choir --operator takedown ls")
def ls(
    limit: Annotated[int, typer.Option(help="Maximum number of takedowns.", min=1, max=10_000)] = 100,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List takedowns, newest first, restored ones included."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(itertools.islice(client.takedowns.all(limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    if not found:
        output.print_line("Nothing was taken down.")
        return
    rows = [(item.id, item.subject, item.category, item.at, item.restored_at or "") for item in found]
    output.print_table(["takedown", "subject", "category", "since", "restored"], rows)


@app.command(epilog="Example: choir --operator takedown restore takedown_01h… --reason 'the order was lifted'")
def restore(
    takedown: Annotated[str, typer.Argument(help="Such as takedown_01h….", metavar="TAKEDOWN")],
    reason: ReasonOption,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Put what was taken down back into public view."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.takedowns.restore(takedown, reason)
    _show(found, as_json=as_json)


def _show(found: TakedownOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    state = "restored" if found.restored_at else "taken down"
    output.print_line(f"{found.id}  {found.subject} is {state} ({found.category}).")
