"""`choir cite` and `choir earnings`: cite articles, see who cites whom, and what it earned."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.citations.shapes import GrantOut

app = typer.Typer(help="Cite articles, and see who cites whom.", no_args_is_help=True)

_FULL_PPM = 1_000_000


def register_earnings(parent: typer.Typer) -> None:
    parent.command("earnings", epilog="Example: choir earnings")(earnings)


@app.command(
    "add",
    epilog="Example: choir cite add article_01h… --in article_01j… --claim 'Many vibrate' --quote 'Wind caused …'",
)
def add(
    article: Annotated[str, typer.Argument(help="The promoted article to cite.", metavar="ARTICLE")],
    draft: Annotated[str, typer.Option("--in", help="Your article, whose newest draft cites it.", metavar="ARTICLE")],
    claim: Annotated[str, typer.Option("--claim", help="What you claim, in your words.", metavar="TEXT")],
    quote: Annotated[str, typer.Option("--quote", help="Words of the cited article.", metavar="TEXT")],
    relation: Annotated[
        str, typer.Option("--relation", help="supports, contradicts or qualifies.", metavar="RELATION")
    ] = "supports",
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Add to your draft a claim that rests on words of another article. It is paid when yours is promoted."""
    output.want_json(as_json)
    with output.reading_options():
        if relation not in ("supports", "contradicts", "qualifies"):
            raise Invalid(what=f"--relation {relation[:40]}", why="it supports, contradicts or qualifies")
    with as_author(node) as author:
        found = author.client.citations.cite_article(draft, article, claim=claim, quote=quote, relation=relation)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"Draft {found.draft} of {found.article} has the claim {found.label}.")
    output.print_line(f"  {found.evidence}")
    output.say(f"It is in the node's draft, not in a file of yours: choir article draft {found.article} {found.draft}")
    output.say(f"See what publishing it takes: choir publish {found.article} --quote")


@app.command("ls", epilog="Example: choir cite ls article_01h…")
def ls(
    article: Annotated[str, typer.Argument(help="The cited article.", metavar="ARTICLE")],
    limit: Annotated[int, typer.Option(help="Maximum number of citations, newest first.", min=1)] = 20,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List who cites an article, and what each citation pays."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = list(itertools.islice(author.client.citations.of_article(article, limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("No promoted article cites it yet.")
    else:
        rows = [
            (item.id, item.citing, item.month, _independence(item.independence_ppm), _dollars(item.amount), item.state)
            for item in found
        ]
        output.print_table(("citation", "citing", "month", "independence", "pays", "state"), rows, whole=(0,))


@app.command("show", epilog="Example: choir cite show citation_01h…")
def show(
    citation: Annotated[str, typer.Argument(help="Such as citation_01h….", metavar="CITATION")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a citation: its rate, its independence, what it pays, and why."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.citations.get(citation)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.id}  {found.state}")
    output.print_line(f"  citing        {found.citing}")
    output.print_line(f"  cited         {found.cited}")
    output.print_line(f"  rate          {_dollars(found.rate)} ({found.month})")
    output.print_line(f"  independence  {_independence(found.independence_ppm)}")
    output.print_line(f"  pays          {_dollars(found.amount)}")
    for words in found.reasons:
        output.print_line(f"  because       {words}")


def earnings(
    statement: Annotated[
        bool, typer.Option("--statement", help="List every grant instead, newest first, with what has vested of it.")
    ] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of grants.", min=1)] = 50,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what your articles earned."""
    output.want_json(as_json)
    if statement:
        _statement(limit, node, as_json=as_json)
        return
    with as_author(node) as author:
        found = author.client.citations.earnings()
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    if not found.items:
        output.say("You have published nothing yet. Begin with: choir article new FILE")
    for item in found.items:
        output.print_line(item.line)
    citation, novelty, allowed = found.citation, found.novelty, found.allowance
    output.print_line(f"Citations  {_dollars(citation.amount)}, of which {_dollars(citation.vested)} have vested")
    if int(found.owed):
        output.print_line(
            f"Owed       {_dollars(found.owed)}, paid when the citation pool has funds; first come, first"
        )
    output.print_line(f"Novelty    {_chip(novelty.amount)} CHIP, of which {_chip(novelty.vested)} have vested")
    used, total = _dollars(allowed.used), _dollars(allowed.total)
    output.print_line(f"Allowance  {used} of {total} triggered by your citations in {allowed.month}")


def _statement(limit: int, node: str | None, *, as_json: bool) -> None:
    with as_author(node) as author:
        found = list(itertools.islice(author.client.citations.grants(limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("Nothing was granted to you yet.")
    else:
        rows = [_grant_row(item) for item in found]
        head = ("since", "for", "amount", "vested", "taken back", "", "about")
        output.print_table(head, rows, right=[2, 3, 4], whole=(6,))


def _grant_row(item: GrantOut) -> tuple[str, ...]:
    amounts = (_in_asset(item.asset, units) for units in (item.amount, item.vested, item.taken_back))
    return (item.starts_at[:10], item.kind, *amounts, item.asset, item.subject)


def _in_asset(asset: str, units: str) -> str:
    return Asset[asset].format(int(units))


def _dollars(units: str) -> str:
    return f"${Asset.USDC.format(int(units))}"


def _chip(units: str) -> str:
    return Asset.CHIP.format(int(units))


def _independence(ppm: int) -> str:
    return f"{ppm * 100 / _FULL_PPM:.0f} %"
