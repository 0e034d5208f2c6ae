"""`choir challenge`: challenge what is published, and rule on challenges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from choir.doors.articles.author import as_author, chip, cover_stake
from choir.doors.articles.commands.publish import confirm
from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.challenges.shapes import ChallengeOut
    from choir.doors.sdk.client import Client

app = typer.Typer(help="Challenge what is published, and rule on challenges.", no_args_is_help=True)

ChallengeArgument = Annotated[str, typer.Argument(help="Such as challenge_01h….", metavar="CHALLENGE")]
_GROUNDS = "hash, span, number, name, negation, copied, fallen, contradicted, misleading or other"
_ROWS = 20


@app.command(
    "open",
    epilog="Example: choir challenge open sha256:9f86… --ground number --statement 'The source says 12, not 21.'",
)
def open_(
    atom: Annotated[
        str,
        typer.Argument(
            help="Hash of a binding or another atom, or an article's id: its newest version.", metavar="ATOM"
        ),
    ],
    ground: Annotated[str, typer.Option("--ground", help=f"One of: {_GROUNDS}.", metavar="GROUND")],
    statement: Annotated[str, typer.Option("--statement", help="What is wrong, in plain text.", metavar="TEXT")],
    evidence: Annotated[
        list[str] | None,
        typer.Option("--evidence", help="A pointer to counter-evidence; may be repeated.", metavar="POINTER"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation of the stake.")] = False,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Challenge an atom that is pending or promoted. It takes a stake, of which you lose half if you are wrong."""
    from choir.doors.challenges.shapes import GroundText

    output.want_json(as_json)
    with output.reading_options():
        if ground not in get_args(GroundText):
            raise Invalid(what=f"--ground {ground[:40]}", why=f"there are {_GROUNDS}")
    with as_author(node) as author:
        if atom.startswith("article_"):
            atom = _newest(author.client, atom)
        values = {item.name: item.value for item in author.client.policy().values}
        if not yes:
            price = chip(values["commons.publish_stake"])
            confirm(f"It takes a stake of {price} CHIP. You lose half of it if you are wrong.", "Challenge it?")
        cover_stake(author, author.client, "commons.publish_stake")
        found = author.client.challenges.open(atom, cast("Any", ground), statement, evidence=evidence or (), key=key)
    _show(found, as_json=as_json)
    if not as_json:
        output.say(f"What the verifiers can decide takes seconds. See: choir challenge show {found.id}")


@app.command("show", epilog="Example: choir challenge show challenge_01h…")
def show(challenge: ChallengeArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show a challenge: what the verifiers said, rulings and outcome."""
    output.want_json(as_json)
    with as_author(node) as author:
        _show(author.client.challenges.get(challenge), as_json=as_json)


@app.command("ls", epilog="Example: choir challenge ls --article article_01h…")
def ls(
    article: Annotated[str | None, typer.Option("--article", help="Only of this article.", metavar="ARTICLE")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own.")] = False,
    to_rule: Annotated[bool, typer.Option("--to-rule", help="Only those that await a ruling.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of challenges, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List challenges."""
    output.want_json(as_json)
    with as_author(node) as author:
        pages = author.client.challenges.all(article=article, mine=mine, to_rule=to_rule, limit=min(limit, 100))
        found = list(itertools.islice(pages, limit))
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
    elif not found:
        output.say("None.")
    else:
        rows = [(item.id, item.state, item.ground, item.article, item.statement) for item in found]
        output.print_table(("challenge", "state", "ground", "article", "statement"), rows, whole=(0,))


@app.command("rule", epilog="Example: choir --operator challenge rule challenge_01h… --uphold --reason 'It does not.'")
def rule(
    challenge: ChallengeArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, in plain text.", metavar="TEXT")],
    uphold: Annotated[bool, typer.Option("--uphold", help="The challenger is right.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="The challenger is wrong.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """For operators: rule on a challenge that the verifiers cannot decide."""
    output.want_json(as_json)
    with output.reading_options():
        if uphold == reject:
            raise Invalid(what="The ruling", why="give either --uphold or --reject")
    with output.client_of(node) as client:
        _show(client.challenges.rule(challenge, upheld=uphold, reasoning=reason), as_json=as_json)


def _newest(client: Client, article: str) -> str:
    """The newest published version of an article, as an atom."""
    versions = client.articles.versions(article).items
    if not versions:
        raise Invalid(what=f"The article {article}", why="it has no published version")
    return versions[0].synthesis


def _show(found: ChallengeOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    output.print_line(f"{found.id}  {found.state}")
    output.print_line(f"  article   {found.article}")
    output.print_line(f"  atom      {found.atom} ({found.kind})")
    output.print_line(f"  ground    {found.ground}: {found.statement}")
    for pointer in found.evidence:
        output.print_line(f"  evidence  {pointer}")
    for item in found.findings:
        output.print_line(f"  {item['level']:<9} {item['check']}: {item['outcome']}; {item['words']}")
    for ruling in found.rulings:
        output.print_line(f"  ruling    {'upheld' if ruling.upheld else 'rejected'}: {ruling.reasoning}")
    if found.reasoning:
        output.print_line(f"  outcome   {found.state}: {found.reasoning}")
