"""`choir novelty`: what a draft would score and earn, and what a version did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author, chip
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption

if TYPE_CHECKING:
    from choir.doors.novelty.shapes import NearestOut, NoveltyOut, NoveltyScoreOut

app = typer.Typer(help="Measure how new an article is, and what that earns.", no_args_is_help=True)

ArticleArgument = Annotated[str, typer.Argument(help="Such as article_01h….", metavar="ARTICLE")]


@app.command("quote", epilog="Example: choir novelty quote article_01h…")
def quote(
    article: ArticleArgument,
    draft: Annotated[int | None, typer.Option("--draft", help="Default: the newest draft.", min=1)] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure a draft against all earlier work; nothing is staked."""
    output.want_json(as_json)
    with as_author(node) as author, output.waiting("Comparing with earlier work", quiet=as_json):
        found = author.client.novelty.measure(article, draft=draft)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    _print_score(found)
    if found.refused:
        output.print_line("It cannot be published: too little of it is new, or can be told to be.")
        raise typer.Exit(output.EXIT_REFUSED)
    output.print_line(f"It would earn {chip(found.reward)} CHIP when promoted; it vests from then on.")


@app.command("show", epilog="Example: choir novelty show article_01h…")
def show(
    article: ArticleArgument,
    version: Annotated[int | None, typer.Option("--version", help="Default: the newest version.", min=1)] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what a published version scored, and what was granted for it."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.novelty.get(article, version=version)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"Version {found.version}, submission {found.position}.")
    _print_score(found)
    if found.granted is None:
        output.print_line(f"It earns {chip(found.reward)} CHIP when it is promoted.")
    else:
        output.print_line(f"Granted: {chip(found.granted)} CHIP ({found.why}; counts for {found.month}).")


def _print_score(found: NoveltyOut | NoveltyScoreOut) -> None:
    output.print_line(f"Novelty {found.score} of 100")
    for words in found.reasons:
        output.print_line(f"  {words}")
    output.print_line(f"  second measure {found.second_score}, {found.words} words, {found.corpus} earlier passages")
    _print_nearest(found.nearest)


def _print_nearest(items: Sequence[NearestOut]) -> None:
    if items:
        output.print_line("Nearest")
    for item in items:
        output.print_line(f"  {item.distance_ppm / 1_000_000:.3f}  {item.kind}  {item.title}  {item.name}")
