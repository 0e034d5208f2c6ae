"""`choir search` and `choir feed`: find promoted articles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.search.shapes import FeedItemOut, ResultOut, SponsoredOut

TopicOption = Annotated[str | None, typer.Option("--topic", help="Only articles of this topic.", metavar="TOPIC")]


def register_search(app: typer.Typer) -> None:
    app.command("search", epilog="Example: choir search 'vibration of bridges' --why")(search)


def register_feed(app: typer.Typer) -> None:
    app.command("feed", epilog="Example: choir feed --topic engineering")(feed)


def search(
    words: Annotated[list[str], typer.Argument(help="What to look for.", metavar="WORDS")],
    topic: TopicOption = None,
    new: Annotated[
        bool | None, typer.Option("--new/--any-age", help="Whether being new counts. Default: if the words ask for it.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show why each result stands where it stands.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of results.", min=1, max=500)] = 10,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Find promoted articles by their words and their sense. No stake and no boost moves a result."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.search.find(" ".join(words), topic=topic, new=new, limit=limit)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    if not found.results:
        output.say("Nothing was found among promoted articles. Fewer or other words may find more.")
    for n, item in enumerate(found.results, 1):
        _print_result(n, item, why=why)
    _print_sponsored(found.sponsored)
    if found.results and not why:
        output.say("Add --why to see why each stands where it stands.")


def feed(topic: TopicOption = None, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show new and much-cited articles. Sponsored places are labelled and stand apart."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.search.feed(topic=topic)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    _print_items("New", found.new, cited=False)
    _print_items("Much cited", found.cited, cited=True)
    _print_sponsored(found.sponsored)


def _print_result(n: int, item: ResultOut, *, why: bool) -> None:
    output.print_line(f"{n:>2}. {item.title}")
    output.print_line(f"    {item.article}  {item.promoted_at[:10]}  {', '.join(item.topics)}".rstrip())
    if item.excerpt:
        output.print_line(f"    {' '.join(item.excerpt.split())}")
    if why:
        for signal in item.why:
            output.print_line(f"      {signal.points:>6}  {signal.name}: {signal.why}")
        output.print_line(f"      {item.points:>6}  in all, of 10000")


def _print_items(heading: str, items: Sequence[FeedItemOut], *, cited: bool) -> None:
    output.print_line(heading)
    if not items:
        output.print_line("  none yet")
    for item in items:
        more = f"  {count(item.citations, 'independent citation')}" if cited else ""
        output.print_line(f"  {item.promoted_at[:10]}  {item.article}  {item.title}{more}")


def _print_sponsored(items: Sequence[SponsoredOut]) -> None:
    for item in items:
        output.print_line(f"[sponsored] {item.article}  {item.title}")
