"""`choir events`: what happens on a node, live."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import ids, output
from choir.doors.cli.output import NodeOption

if TYPE_CHECKING:
    from choir.doors.events.client import Event

_BY_BEGINNING = ("job_", "dispute_", "provider_")  # what can be named by the beginning of its id


def register(app: typer.Typer) -> None:
    app.command("events", epilog="Example: choir events --type identity --json")(events)


def events(
    after: Annotated[
        str | None, typer.Option(help="Start after this position; 0-0 is all that is kept.", metavar="POSITION")
    ] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only this type and its subtypes.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only events about this subject.")] = None,
    no_follow: Annotated[
        bool, typer.Option("--no-follow", help="End after past events; default: keep following.")
    ] = False,
    node: NodeOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Stream events until Ctrl-C. Reconnects automatically."""
    output.want_json(as_json)
    with output.client_of(node, quiet=True) as client:
        if subject is not None and subject.startswith(_BY_BEGINNING):
            subject = ids.whole(client, "job", subject)
        if not no_follow:
            output.say(f"Listening to {client.url}; Ctrl-C ends it.")
        for event in client.events(after=after, type_=type_, subject=subject, follow=not no_follow):
            _show(event, as_json=as_json)


def _show(event: Event, *, as_json: bool) -> None:
    if as_json:
        output.print_line(json.dumps(event.model_dump(), ensure_ascii=False))
    elif event.missed:
        output.say("Some events were missed: they are no longer kept.")
    else:
        data = json.dumps(event.data)  # in ASCII: what a stranger wrote cannot steer the terminal
        output.print_line(f"{event.at}  {event.position}  {event.type}  {event.subject}  {data}")
    sys.stdout.flush()
