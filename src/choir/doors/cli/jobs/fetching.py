"""`choir job fetch`: what was paid for, whenever it was ordered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.jobs import results
from choir.doors.cli.jobs.buyer import as_buyer
from choir.doors.cli.jobs.following import JobArgument
from choir.doors.cli.output import AsJson, NodeOption


def register(app: typer.Typer) -> None:
    app.command("fetch", epilog="Example: choir job fetch job_01h… --out fix.diff")(fetch)


def fetch(
    job: JobArgument,
    out: Annotated[Path | None, typer.Option("--out", help="Write it there instead of printing it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Get what a job was paid for: a run's output, a review, a diff, a text; every hash and signature is checked."""
    from choir.doors.sdk.mesh import MeshClient

    output.want_json(as_json)
    if out is not None:
        output.may_write(out, force=force)
    with as_buyer(node, quiet=True) as buyer:
        found = MeshClient(buyer.client).verified(buyer.client.jobs.get(job))
    results.give_out(found, out, as_json=as_json)
