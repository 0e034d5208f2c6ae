"""`choir job trajectory`: what a provider's worker did, as it recorded it."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import AsJson, ForceOption, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer
from choir.doors.jobs.commands.options import OutOption
from choir.doors.jobs.commands.receipt import AttemptOption
from choir.doors.jobs.commands.watch import JobArgument

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


class Format(StrEnum):
    RLOG = "rlog"
    ATIF = "atif"


FormatOption = Annotated[
    Format,
    typer.Option("--format", help="rlog (rlog/1, as it was signed) or atif (ATIF v1.8, JSON).", metavar="FORMAT"),
]


def register(app: typer.Typer) -> None:
    app.command("trajectory", epilog="Example: choir job trajectory job_01h… --format atif --out work.json")(trajectory)


def trajectory(
    job: JobArgument,
    format_: FormatOption = Format.RLOG,
    attempt: AttemptOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print the record of the work on a job: tool calls, results' hashes, thoughts and tokens, as far as reported.

    It is checked against the hash that the attempt names, and read strictly.
    """
    output.want_json(as_json)  # for errors; what is printed is as --format says
    if out is not None:
        output.may_write(out, force=force)
    if output.operator_wanted():
        with output.client_of(node) as client:
            data = _fetched(client, job, attempt, format_)
    else:
        with as_buyer(node, quiet=True) as buyer:
            data = _fetched(buyer.client, job, attempt, format_)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    output.write_result(out, data, force=force)


def _fetched(client: Client, job: str, attempt: str | None, format_: Format) -> bytes:
    from choir.bazaar.policy import BazaarPolicy, WorkersPolicy
    from choir.bazaar.trajectories import atif, reader
    from choir.doors.mesh.deliveries import chosen
    from choir.doors.sdk import blobs
    from choir.doors.sdk.policies import policy_of
    from choir.foundation.errors import NotFound

    found = client.jobs.get(ids.whole(client, "job", job))
    done = chosen(found, ids.attempt_of(found, attempt))
    if done.trajectory is None:
        raise NotFound(what="trajectory that you may read, of", id=done.id)
    most = policy_of(client).of(BazaarPolicy).trajectory_bytes_max
    part = partial(client.attempts.trajectory_part, done.id)
    data = blobs.whole(part, done.trajectory, "The trajectory", most)
    read = reader.parse(data, WorkersPolicy(), most)
    return data if format_ is Format.RLOG else atif.to_bytes(read)
