"""`choir article read|export|verify|retract`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.articles.author import as_author
from choir.doors.articles.commands.drafts import ArticleArgument, print_version, version_number
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, ForceOption, NodeOption
from choir.foundation.errors import TooLarge
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.commons.bundles.verification import BundleReport

VersionOption = Annotated[
    int | None,
    typer.Option("--version", help="Such as 1 or v1; default: the newest.", parser=version_number, metavar="VERSION"),
]


def register(app: typer.Typer) -> None:
    app.command("read", epilog="Example: choir article read article_01h… --html")(read)
    app.command("export", epilog="Example: choir article export article_01h… -o bridges.zip")(export)
    app.command("verify", epilog="Example: choir article verify bridges.zip")(verify)
    app.command("retract", epilog="Example: choir article retract article_01h… --reason 'a source was withdrawn'")(
        retract
    )


def read(
    article: ArticleArgument,
    version: VersionOption = None,
    html: Annotated[bool, typer.Option("--html", help="As safe HTML with the evidence of each claim.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a published version."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.read(article, version=version)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        output.print_line(found.html if html else found.text)


def export(
    article: ArticleArgument,
    file: Annotated[Path, typer.Option("--output", "-o", help="Where to write it.", metavar="FILE")],
    version: VersionOption = None,
    force: ForceOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Export a version with all its evidence as one file that anybody can check offline."""
    output.want_json(as_json)
    output.may_write(file, force=force)
    with as_author(node) as author, output.waiting("Collecting the evidence", quiet=as_json):
        data = author.client.articles.bundle(article, version=version)
    output.write_result(file, data, force=force)
    if as_json:
        output.print_json({"file": str(file), "bytes": len(data)})
    else:
        output.print_line(f"{file}: {count(len(data), 'byte')}")
        output.say(f"Check it, also without this node: choir article verify {file}")


def verify(
    file: Annotated[Path, typer.Argument(help="A file made by `choir article export`.", metavar="FILE")],
    node_key: Annotated[
        str | None,
        typer.Option("--node-key", help="The node's key, as `choir key show` prints it on the node.", metavar="KEY"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify an exported article offline: every hash, signature, span and line of evidence."""
    from choir.commons.bundles.verification import verify_bundle
    from choir.commons.policy import CommonsPolicy, SourcesPolicy, VerifiersPolicy
    from choir.commons.publication.referee import Referee
    from choir.commons.sources.reader import DocumentReader
    from choir.ledger.notes import VerifierKey
    from choir.policies import default_policy

    output.want_json(as_json)
    with output.reading_options():
        key = None if node_key is None else VerifierKey.parse(node_key).public
    policy = default_policy()
    commons = policy.of(CommonsPolicy)
    size = file.stat().st_size
    if size > commons.bundle_bytes_max:
        raise TooLarge(what=f"The file {file}", size=size, limit=commons.bundle_bytes_max)
    reader = DocumentReader(policy.of(SourcesPolicy))
    try:
        with output.waiting("Verifying", quiet=as_json):
            referee = Referee(reader, commons, policy.of(VerifiersPolicy))
            report = verify_bundle(file.read_bytes(), referee, commons, key)
    finally:
        reader.close()
    _print(report, as_json=as_json)
    if not report.passed:
        raise typer.Exit(output.EXIT_DIFFERENCE)


def _print(report: BundleReport, *, as_json: bool) -> None:
    if as_json:
        checks = [{"check": item.check, "passed": item.passed, "words": item.words} for item in report.checks]
        bindings = [
            {"claim": claim, "level": None if found.verified is None else found.verified.value}
            for claim, found in report.bindings
        ]
        value = {"passed": report.passed, "article": report.article, "version": report.version, "state": report.state}
        output.print_json(value | {"title": report.title, "checks": checks, "bindings": bindings})
        return
    output.print_line(f"{report.title} ({report.article}, version {report.version}, {report.state} says its node)")
    for item in report.checks:
        output.print_line(f"  {'ok  ' if item.passed else 'FAIL'}  {item.check:<12} {item.words}")
    for claim, found in report.bindings:
        level = "not verified" if found.verified is None else found.verified.value
        output.print_line(f"  {level:<12}  {claim}")


def retract(
    article: ArticleArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, in plain text.", metavar="TEXT")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Retract the newest version of your article. It stays in history and is never citable again."""
    output.want_json(as_json)
    with as_author(node) as author:
        found = author.client.articles.retract(article, reason)
    if as_json:
        output.print_json(found.model_dump(mode="json"))
    else:
        print_version(found)
