"""`choir skill`: publish skills that orders can name, and see what came of them."""

from __future__ import annotations

import base64
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import Buyer, as_buyer
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.skills.shapes import SkillOut

app = typer.Typer(help="Publish skills that orders can name, for a share of their price.", no_args_is_help=True)

SkillArgument = Annotated[str, typer.Argument(help="Its id, NAME@VERSION, or NAME for the last one.", metavar="SKILL")]
_PERCENT = 100


@app.command(epilog="Example: choir skill publish ./mend-python --version 1.0 --share 10")
def publish(
    folder: Annotated[
        Path, typer.Argument(help="A folder with a SKILL.md and files.", metavar="FOLDER", file_okay=False, exists=True)
    ],
    version: Annotated[str, typer.Option("--version", help="Such as 1.0; it never changes.", metavar="VERSION")],
    name: Annotated[str | None, typer.Option("--name", help="Default: the folder's name.", metavar="NAME")] = None,
    description: Annotated[
        str | None, typer.Option("--description", help="In a line; default: from SKILL.md.", metavar="TEXT")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option("--share", help="Percent of the price of work with it; default: the maximum.", min=0, max=100),
    ] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Publish a version of a skill. Its name stays yours, and what is published does not change."""
    from choir.bazaar.policy import MarketPolicy
    from choir.doors.skills import folders

    output.want_json(as_json)
    policy = output.policy_at(node).of(MarketPolicy)
    with output.reading_options():
        files = folders.files_of(folder, policy.skill_files_max, policy.skill_bytes_max)
        said = description or folders.description_of(folder)
        if not said:
            raise Invalid(what="The skill", why="SKILL.md says nothing; give --description")
    share_bps = None if share is None else round(share * _PERCENT)
    with as_buyer(node, quiet=True) as creator:
        found = creator.client.skills.publish(name or folder.resolve().name.lower(), version, said, files, share_bps)
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(f"{found.id}  {_named(found)}")
    output.say(f"Orders name it with: choir job submit … --skill {_named(found)}")


@app.command("ls", epilog="Example: choir skill ls")
def ls(
    mine: Annotated[bool, typer.Option("--mine", help="Only your own, withdrawn ones too.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of skills.", min=1, max=10_000)] = 100,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List skills that orders can name, newest first."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) if mine else output.client_of(node) as found_by:
        client = found_by.client if isinstance(found_by, Buyer) else found_by
        creator = client.me.who().owner if mine else None
        found = list(itertools.islice(client.skills.all(creator=creator, limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    if not found:
        output.print_line("There are no skills.")
        return
    rows = [
        (_named(item), _share(item.share_bps), item.description or "", "withdrawn" if item.withdrawn_at else "")
        for item in found
    ]
    output.print_table(["skill", "share", "description", ""], rows, right=(1,), whole=(0,))


@app.command(epilog="Example: choir skill show mend-python@1.0")
def show(
    skill: SkillArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write its files to this new folder; your own only.", metavar="FOLDER")
    ] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a skill: what it is for, its files, and what came of it."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.skills.get(skill)
    if out is not None:
        with as_buyer(node, quiet=True) as creator:
            files = creator.client.skills.files(found.id).files
        from choir.bazaar.contracts.skills import SkillFile, SkillFolder

        items = tuple(SkillFile(item.path, base64.b64decode(item.content), item.executable) for item in files)
        if out.exists():
            raise Invalid(what=f"The folder {out}", why="it exists already")
        SkillFolder(items).write(out)
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(f"{found.id}  {found.name}@{found.version}")
    output.print_line(f"  {found.description}")
    output.print_line(f"  creator {found.creator}, share {_share(found.share_bps)}, folder {found.hash}")
    output.print_line(
        f"  named by {found.orders} orders, {found.paid} paid, {Asset.SAT.format(int(found.earned))} SAT to its creator"
    )
    if found.withdrawn_at:
        output.print_line(f"  withdrawn at {found.withdrawn_at}")
    for item in found.paths:
        output.print_line(f"  {item.bytes:>9}  {item.path}")


@app.command(epilog="Example: choir skill withdraw mend-python@1.0")
def withdraw(skill: SkillArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Withdraw a skill: new orders cannot name it. Orders that name it keep it, and pay its share."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as creator:
        found = creator.client.skills.withdraw(skill)
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_line(f"{found.id}  {_named(found)} is withdrawn.")


def _named(item: SkillOut) -> str:
    return f"{item.name}@{item.version}"


def _share(bps: int) -> str:
    return f"{bps / _PERCENT:g} %"
