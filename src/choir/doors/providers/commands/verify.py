"""`choir provider verify|receipt`: every check of one's own delivery again, and the receipt of it for others."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import ids
from choir.doors.jobs.commands.receipt import AttemptOption, print_receipt
from choir.doors.jobs.commands.verify import check_again
from choir.doors.jobs.commands.watch import JobArgument
from choir.doors.providers.commands.own_provider import ProviderCall, own_provider


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir provider verify job_01h…")(verify)
    app.command("receipt", epilog="Example: choir provider receipt job_01h… > receipt.json")(receipt)


@own_provider
def verify(
    job: JobArgument,
    attempt: Annotated[str | None, typer.Option(help="Your attempt; default: the last.", metavar="ATTEMPT")] = None,
    *,
    asking: ProviderCall,
) -> None:
    """Re-run every check of your delivery in a local sandbox and compare with the node's verdict.

    Hidden checks can be re-run once your delivery has failed them. Exit code 5 means that something differs.
    """
    from choir.doors.mesh.deliveries import judged

    with asking.client() as client:
        found = client.jobs.get(ids.whole(client, "job", job))
        check_again(client, judged(client, found, ids.attempt_of(found, attempt)), as_json=asking.as_json)


@own_provider
def receipt(job: JobArgument, attempt: AttemptOption = None, *, asking: ProviderCall) -> None:
    """Print the receipt of your delivery as JSON, with verdict, payment and proof.

    Anyone can verify the file offline: `choir_verify.py receipt receipt.json --key KEY`.
    """
    with asking.client() as client:
        print_receipt(client, job, attempt)
