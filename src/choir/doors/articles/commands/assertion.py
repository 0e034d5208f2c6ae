"""`choir assert`: which sentences stand on promoted bindings."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.articles.commands.drafts import text_of
from choir.doors.articles.commands.evidence import VersionOption
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.foundation.words import count

_MARKS = {"stands": "stands", "pending": "pending", "unsupported": "UNSUPPORTED", "plain": "-"}


def register(app: typer.Typer) -> None:
    app.command("assert", epilog="Example: choir assert draft.md")(assert_)


def assert_(
    text: Annotated[str, typer.Argument(help="An article's id, a file, or - for standard input.", metavar="TEXT")],
    version: VersionOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show which sentences of a text stand on promoted evidence."""
    output.want_json(as_json)
    with as_author(node) as author:
        if text.startswith("article_"):
            found = author.client.articles.assert_article(text, version=version)
        else:
            found = author.client.articles.assert_text(text_of(text, node))
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    for item in found.sentences:
        output.print_line(f"{_MARKS[item.standing]:<12} {item.text}".replace("\n", " "))
        if item.standing != "plain":
            output.print_line(f"{'':<12}   {item.words}")
    output.say(f"{found.stands} of {count(len(found.sentences), 'sentence')} stand on promoted evidence.")
