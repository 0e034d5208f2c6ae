"""`choir provider serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choir.bazaar.policy import WorkersPolicy
from choir.doors.cli import output
from choir.doors.cli.output import NodeOption
from choir.doors.providers.commands.own_provider import (
    FolderOption,
    KeyFileOption,
    NameOption,
    PublicUrlOption,
    home_of,
)


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: choir provider serve --types run,review --capacity 3 --worker builtin")(serve)


def serve(
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="builtin (default), run, review, fix, index, text, an agent (claude-code), a .py or .toml; repeat.",
            metavar="WORKER",
        ),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            help="Job types to sell: run, review, patch, text. Default: all that the workers can do.", metavar="TYPES"
        ),
    ] = None,
    capacity: Annotated[int | None, typer.Option(help="Maximum concurrent jobs.", min=1, max=1_000)] = None,
    isolation: Annotated[
        str, typer.Option(help="Sandbox tier for the work: bubblewrap, container or gvisor.", metavar="TIER")
    ] = "bubblewrap",
    model: Annotated[str, typer.Option(help="The model that agents use; shown to buyers.", metavar="MODEL")] = "",
    api: Annotated[str, typer.Option(help="API that agents use: anthropic or openai.", metavar="API")] = "anthropic",
    endpoint: Annotated[
        str, typer.Option(help="Address of the model, such as http://localhost:11434/v1.", metavar="URL")
    ] = "",
    key_env: Annotated[
        str, typer.Option("--key-env", help="Variable that holds the model's key.", metavar="NAME")
    ] = "",
    agent_folder: Annotated[
        Path | None,
        typer.Option("--agent-folder", help="Venv or npm prefix that the agent is installed in.", metavar="FOLDER"),
    ] = None,
    name: NameOption = None,
    region: Annotated[
        str | None, typer.Option(help="Region, such as eu-west; shown to buyers.", metavar="REGION")
    ] = None,
    drain_s: Annotated[
        float | None, typer.Option("--drain-s", help="Seconds that running jobs may continue when it stops.", min=0)
    ] = None,
    key: KeyFileOption = None,
    provider_home: FolderOption = None,
    public_url: PublicUrlOption = None,
    node: NodeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Run a provider: take jobs and do them until Ctrl-C. A second Ctrl-C withdraws from running jobs.

    Without a token or login that may sell, it sells as an agent of its own, with a key that it creates and keeps in its
    folder.
    """
    from choir.bazaar.workers.profiles import BadProfile
    from choir.doors.provider.machine import policy_here
    from choir.doors.provider.model import NoSuchWork, ServeOptions, job_type
    from choir.doors.provider.process import serve as serve_until_stopped
    from choir.doors.sdk.target import address_of, is_play_node
    from choir.foundation.settings import load_settings
    from choir.sandbox.model import Tier

    output.want_json(as_json)
    settings = load_settings()
    policy = policy_here(settings, play=is_play_node(address_of(settings, node)))
    with output.reading_options():
        wanted = ServeOptions(
            workers=tuple(worker or ["builtin"]),
            isolation=Tier.parse(isolation),
            capacity=capacity or policy.of(WorkersPolicy).capacity,
            types=tuple(dict.fromkeys(job_type(item) for item in (types or "").split(",") if item.strip())),
            name=name,
            region=region,
            model=model,
            api=api,
            drain_s=drain_s,
            endpoint=endpoint,
            key_variable=key_env,
            agent_folder=agent_folder,
        )
        home = home_of(name, provider_home)
    with output.reading_options((BadProfile, NoSuchWork)):  # workers are made, and so understood, in there
        serve_until_stopped(home, wanted, policy, node=node, key_file=key, public_url=public_url, as_json=as_json)
