"""`choir job keep`: keep the bytes of a closed job longer, for a price."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.jobs.commands.buyer import as_buyer, sat
from choir.doors.jobs.commands.watch import JobArgument


def register(app: typer.Typer) -> None:
    app.command("keep", epilog="Example: choir job keep job_01h… --days 90")(keep)


def keep(
    job: JobArgument,
    days: Annotated[int | None, typer.Option("--days", help="How many days longer; default: only tell.", min=1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what it would cost, and charge nothing.")] = False,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Keep a closed job's inputs, artifacts and trajectories longer. They are removed after a time; hashes stay."""
    output.want_json(as_json)
    with as_buyer(node, quiet=True) as buyer:
        id_ = ids.whole(buyer.client, "job", job)
        if days is None or dry_run:
            told = buyer.client.jobs.retention(id_, days)
            if as_json:
                output.print_json(told.model_dump())
                return
            until = (
                f"removed at {told.removed_at}" if told.removed_at else f"kept until {told.kept_until or 'it closes'}"
            )
            cost = "" if told.price is None else f"; {days} more days cost {sat(told.price)} SAT for {told.bytes} bytes"
            output.print_line(f"{id_}: {until}{cost}")
            return
        buyer.cover(int(buyer.client.jobs.retention(id_, days).price or 0))
        made = buyer.client.jobs.keep(id_, days, key=key)
    if as_json:
        output.print_json(made.model_dump())
    else:
        output.print_line(f"{id_}: kept until {made.kept_until}, for {sat(made.price)} SAT")
