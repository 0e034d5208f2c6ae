"""`choir job result`: what was bought, also for whoever did not wait for it."""

from __future__ import annotations

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import AsJson, ForceOption, NodeOption
from choir.doors.jobs.commands import presentation
from choir.doors.jobs.commands.buyer import as_buyer
from choir.doors.jobs.commands.options import OutOption, TimeoutOption
from choir.doors.jobs.commands.watch import JobArgument, ending_early, telling


def register(app: typer.Typer) -> None:
    app.command("result", epilog="Example: choir job result job_01h… --out fix.diff")(result)


def result(
    job: JobArgument,
    timeout: TimeoutOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Get a job's artifact, checked against its hashes and receipt. Waits until the job is done."""
    from choir.doors.mesh.client import MeshClient

    output.want_json(as_json)
    if out is not None:
        output.may_write(out, force=force)
    with as_buyer(node, quiet=True) as buyer:
        mesh = MeshClient(buyer.client)
        job = ids.whole(buyer.client, "job", job)
        handle = mesh.handle(job)
        with ending_early(job), telling(buyer.client, steps_to="" if as_json else "stderr") as view:
            found = mesh.await_and_verify(handle, timeout, on_change=view.look)
    presentation.show(found, out, force=force, as_json=as_json)
