"""`choir job share|unshare`: one's own side of a job, public or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer
from choir.doors.jobs.commands.watch import JobArgument

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import SharingOut
    from choir.doors.sdk.client import Client

_WHAT = {"buyer": "the order and what came of it", "provider": "what your provider did"}


def register(app: typer.Typer) -> None:
    app.command("share", epilog="Example: choir job share job_01h…")(share)
    app.command("unshare", epilog="Example: choir job unshare job_01h…")(unshare)


def share(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Let everybody read your side of a job: as its buyer the order and result, as its provider the trajectory."""
    _do(job, node, lambda client, id_: client.jobs.share(id_), as_json=as_json)


def unshare(job: JobArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Take back that everybody can read your side of a job."""
    _do(job, node, lambda client, id_: client.jobs.unshare(id_), as_json=as_json)


def _do(job: str, node: str | None, act: Callable[[Client, str], SharingOut], *, as_json: bool) -> None:
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        found = act(buyer.client, ids.whole(buyer.client, "job", job))
    if as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    for side, public in found.sides.items():
        output.print_line(f"{found.job}: {_WHAT[side]}: {'public' if public else 'not public'}")
