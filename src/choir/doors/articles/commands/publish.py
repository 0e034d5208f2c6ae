"""`choir publish`: quote, confirm, stake, and follow an article until it is promoted."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author, chip, cover_stake
from choir.doors.articles.commands.drafts import draft_number, print_version, text_of
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.disputes.commands import NotConfirmed
from choir.foundation.errors import Refusal
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.articles.shapes import PublicationOut, QuoteOut
    from choir.doors.novelty.shapes import NoveltyOut
    from choir.doors.sdk.client import Client

_POLL_S = 1.0
_NEAREST_SHOWN = 3
_UNDECIDED = ("in_review",)


class WouldNotPass(Refusal):
    """The quote has problems."""

    code = "cli.would_not_pass"
    sentence = "The draft would not pass its review, so nothing was staked: {problems}."
    hint = "Mend it, save it with `choir article save {article} FILE`, and publish it again."


def register(app: typer.Typer) -> None:
    app.command("publish", epilog="Example: choir publish article_01h… --quote")(publish)


def publish(
    article: Annotated[
        str, typer.Argument(help="An article's id, or a Markdown file for a new one.", metavar="ARTICLE")
    ],
    draft: Annotated[
        int | None,
        typer.Option("--draft", help="Such as 2 or d2; default: the newest.", parser=draft_number, metavar="DRAFT"),
    ] = None,
    quote: Annotated[bool, typer.Option("--quote", help="Only show what it would take; nothing is staked.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the review.")] = True,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Publish an article: stake, review, window, promotion."""
    output.want_json(as_json)
    with as_author(node) as author:
        client = author.client
        is_file = not article.startswith("article_") or Path(article).exists()
        id_ = _new(client, article, node, quiet=as_json) if is_file else article
        cover_stake(author, client, "commons.publish_stake", "commons.publish_fee")
        with output.waiting("Checking the evidence", quiet=as_json):
            found = client.articles.quote(id_, draft=draft)
        if quote:
            _print_quote(id_, found, as_json=as_json)
            raise typer.Exit(0 if found.would_pass and not found.too_little else output.EXIT_REFUSED)
        _must_pass(id_, found, as_json=as_json)
        if not yes:
            _print_quote(id_, found, as_json=False)
            confirm(_price(found), "Publish it?")
        published = client.articles.publish(id_, draft=draft, key=key)
        if wait:
            with output.waiting("In review", quiet=as_json):
                published = _reviewed(client, id_, published)
    _print_publication(published, as_json=as_json)
    if published.state == "refused":
        raise typer.Exit(output.EXIT_REFUSED)


def _new(client: Client, file: str, node: str | None, *, quiet: bool) -> str:
    """A new article from a file; the same file makes one, however often this is typed."""
    import hashlib

    text = text_of(file, node)
    found = client.articles.create(text, key=f"publish:{hashlib.sha256(text.encode()).hexdigest()}")
    if not quiet:
        output.say(f"{found.id}: {found.title}")
    return found.id


def confirm(price: str, question: str) -> None:
    """Ask before something is spent; who cannot be asked must have said --yes."""
    output.say(price)
    if not sys.stdin.isatty() or not typer.confirm(question, err=True):
        raise NotConfirmed


def _must_pass(id_: str, found: QuoteOut, *, as_json: bool) -> None:
    if found.would_pass:
        return
    if not as_json:
        _print_quote(id_, found, as_json=False)
    raise WouldNotPass(article=id_, problems="; ".join(item.words for item in found.problems[:3]))


def _reviewed(client: Client, id_: str, published: PublicationOut) -> PublicationOut:
    while published.state in _UNDECIDED:
        time.sleep(_POLL_S)
        published = client.articles.versions(id_).items[0]
    return published


def _price(found: QuoteOut) -> str:
    parts = ", ".join(f"{chip(amount)} {origin}" for origin, amount in found.parts.items())
    return (
        f"It takes a stake of {chip(found.stake)} CHIP ({parts}), which comes back if the article stands,"
        f" and a fee of {chip(found.fee)} CHIP, which does not."
    )


def _print_quote(id_: str, found: QuoteOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{id_}: {'would pass its review' if found.would_pass else 'would NOT pass its review'}")
    output.print_line(f"  cost      {chip(found.stake)} CHIP stake, {chip(found.fee)} CHIP fee")
    if int(found.co_stake):
        output.print_line(f"  co-stake  the treasury adds {chip(found.co_stake)} CHIP to your first stake")
    if found.too_little:
        output.print_line(f"  missing   {found.too_little}")
    output.print_line(
        f"  risk      {found.risk_bps / 10_000:.2f} ({found.tier}); window {found.window_s // 3600} hours"
    )
    output.print_line(
        f"  evidence  {count(found.verified, 'verified binding')} of {found.needed} needed for"
        f" {count(found.words, 'word')}"
    )
    _print_novelty(found.novelty)
    for item in found.bindings:
        output.print_line(f"  {item.label:<9} {item.level or 'not verified'}  {item.relation} {item.pointer}")
        for finding in item.findings:
            if finding.outcome not in ("pass", "not_judged"):
                output.print_line(f"            {finding.level} {finding.check}: {finding.outcome}; {finding.words}")
    if any(finding.outcome == "undecided" for item in found.bindings for finding in item.findings):
        output.print_line("  advice    undecided: say it closer to the extract's words, or cite a longer extract")
    if found.publishes:
        output.print_line(f"  note      everybody could read the text of {count(len(found.publishes), 'source')} then")
    for problem in found.problems:
        output.print_line(f"  problem   {problem.claim + ': ' if problem.claim else ''}{problem.words}")


def _print_novelty(found: NoveltyOut) -> None:
    earns = f"earns {chip(found.reward)} CHIP when promoted" if int(found.reward) else "earns nothing"
    output.print_line(f"  novelty   {found.score} of 100; {earns}")
    for words in found.reasons[:1]:
        output.print_line(f"            {words}")
    for item in found.nearest[:_NEAREST_SHOWN]:
        output.print_line(f"  nearest   {item.distance_ppm / 1_000_000:.3f}  {item.kind} {item.name}: {item.title}")


def _print_publication(found: PublicationOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.article}")
    print_version(found)
    if found.state == "in_window":
        output.say(f"Anybody may challenge it until {found.window_until}; then it is promoted.")
