"""`choir signup`: the sign-up page of a node, with who brought one here. The passkey is made in the browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated
from urllib.parse import urlencode

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption


def register(app: typer.Typer) -> None:
    app.command("signup", epilog="Example: choir signup --referrer ada")(signup)


def signup(
    referrer: Annotated[
        str | None,
        typer.Option("--referrer", help="Handle of who brought you here; it can be named now only.", metavar="HANDLE"),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Open the sign-up page of a node in the browser. A referrer gets a share of what you pay for work, for a year."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        if referrer is not None:
            client.people.get(referrer)  # a handle that nobody has is refused before the browser opens
    address = f"{output.address_of(node)}/sign-up" + (f"?{urlencode({'referrer': referrer})}" if referrer else "")
    if as_json:
        output.print_json({"address": address})
    else:
        output.print_line(address)
    if not no_browser and not as_json:
        webbrowser.open(address)
