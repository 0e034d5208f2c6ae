"""`choir job receipt`: all that a stranger needs to check what was paid, and for what, in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer
from choir.doors.jobs.commands.watch import JobArgument

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

AttemptOption = Annotated[
    str | None,
    typer.Option("--attempt", help="Attempt number; default: the paid one, or the last.", metavar="ATTEMPT"),
]


def register(app: typer.Typer) -> None:
    app.command("receipt", epilog="Example: choir job receipt job_01h… > receipt.json")(receipt)


def receipt(job: JobArgument, attempt: AttemptOption = None, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Print a job's receipt as JSON, with verdict, payment and proof.

    Anyone can verify the file offline: `choir_verify.py receipt receipt.json --key KEY`. Providers use
    `choir provider receipt`, operators `choir --operator job receipt`.
    """
    output.want_json(as_json)  # for errors; a receipt is JSON in any case
    if output.operator_wanted():
        with output.client_of(node) as client:
            print_receipt(client, job, attempt)
        return
    with as_buyer(node, quiet=True) as buyer:
        print_receipt(buyer.client, job, attempt)


def print_receipt(client: Client, job: str, attempt: str | None) -> None:
    from choir.doors.mesh.deliveries import chosen

    found_job = client.jobs.get(ids.whole(client, "job", job))
    found = client.attempts.receipt_file(chosen(found_job, ids.attempt_of(found_job, attempt)).id)
    output.print_json(found.model_dump(mode="json"))
