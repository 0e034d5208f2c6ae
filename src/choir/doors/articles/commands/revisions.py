"""`choir article revise|revisions|revision|vote|boost`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author, chip, cover_stake
from choir.doors.articles.commands.drafts import ArticleArgument, FileArgument, TitleOption, TopicOption, text_of
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.articles.shapes import RevisionOut

RevisionArgument = Annotated[str, typer.Argument(help="Such as revision_01h….", metavar="REVISION")]
_ROWS = 20


def register(app: typer.Typer) -> None:
    app.command("revise", epilog="Example: choir article revise article_01h… better.md --summary 'newer figures'")(
        revise
    )
    app.command("revisions", epilog="Example: choir article revisions article_01h…")(revisions)
    app.command("revision", epilog="Example: choir article revision revision_01h…")(revision)
    app.command("vote", epilog="Example: choir article vote revision_01h… --accept")(vote)
    app.command("boost", epilog="Example: choir article boost article_01h…")(boost)


def revise(
    article: ArticleArgument,
    file: FileArgument,
    summary: Annotated[str, typer.Option("--summary", help="What changes, in a line.", metavar="TEXT")],
    title: TitleOption = None,
    topic: TopicOption = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose a revision of somebody else's article. Takes a fee; 90 % goes back if it is refused."""
    output.want_json(as_json)
    text = text_of(file, node)
    with as_author(node) as author:
        cover_stake(author, author.client, "commons.revision_fee")
        found = author.client.articles.revise(article, text, summary, title=title, topics=topic, key=key)
    _show(found, as_json=as_json)


def revisions(
    article: ArticleArgument,
    limit: Annotated[int, typer.Option(help="Maximum number of revisions, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List proposed revisions: all for authors, your own otherwise."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = list(itertools.islice(author.client.articles.revisions(article, limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump(mode="json", exclude={"text"}) for item in found])
    elif not found:
        output.say("None.")
    else:
        rows = [(item.id, item.state, item.proposer, item.summary) for item in found]
        output.print_table(("revision", "state", "by", "summary"), rows, whole=(0,))


def revision(revision: RevisionArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a proposed revision and its votes."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.revision(revision)
    _show(found, as_json=as_json)
    if not as_json:
        output.print_line()
        output.print_line(found.text)


def vote(
    revision: RevisionArgument,
    accept: Annotated[bool, typer.Option("--accept", help="Accept it.")] = False,
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Vote on a revision of your article. The first vote stands."""
    output.want_json(as_json)
    with output.reading_options():
        if accept == refuse:
            raise Invalid(what="The vote", why="give either --accept or --refuse")
    with as_author(node) as author:
        _show(author.client.articles.vote(revision, accepts=accept), as_json=as_json)


def boost(
    article: ArticleArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Boost a promoted article: a labelled sponsored place. It changes no ranking."""
    from choir.doors.articles.commands.publish import confirm

    output.want_json(as_json)
    with as_author(node) as author:
        values = {item.name: item.value for item in author.client.policy().values}
        if not yes:
            confirm(f"A boost costs {chip(values['commons.boost_price'])} CHIP, which do not come back.", "Boost it?")
        cover_stake(author, author.client, "commons.boost_price")
        found = author.client.articles.boost(article, key=key)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        output.print_line(f"{found.article} is boosted until {found.until} for {chip(found.amount)} CHIP.")


def _show(found: RevisionOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.id}  {found.state}")
    output.print_line(f"  article   {found.article}, from draft {found.base}")
    output.print_line(f"  by        {found.proposer}")
    output.print_line(f"  summary   {found.summary}")
    output.print_line(f"  until     {found.until}")
    for author, accepts in found.votes.items():
        output.print_line(f"  vote      {author}: {'accepts' if accepts else 'refuses'}")
