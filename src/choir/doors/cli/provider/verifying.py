"""`choir provider verify`: every check of one's own delivery again, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.jobs.following import JobArgument
from choir.doors.cli.jobs.verifying import check_again
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.cli.provider.asking import FolderOption, KeyFileOption, NameOption, PublicUrlOption, as_seller


def register(app: typer.Typer) -> None:
    app.command("verify", epilog="Example: choir provider verify job_01h…")(verify)


def verify(
    job: JobArgument,
    attempt: Annotated[
        str | None, typer.Option(help="This attempt of yours; default: the last.", metavar="ATTEMPT")
    ] = None,
    name: NameOption = None,
    key: KeyFileOption = None,
    provider_home: FolderOption = None,
    public_url: PublicUrlOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Make every check of what you delivered again in a sandbox here, and compare with what the node found.

    Hidden checks can be made again once your delivery has failed them. Exit code 5 says that something differs.
    """
    from choir.doors.sdk.judged import judged

    output.want_json(as_json)
    with as_seller(node, name, provider_home, key, public_url) as client:
        check_again(client, judged(client, client.jobs.get(job), attempt), as_json=as_json)
