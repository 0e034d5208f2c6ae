"""`choir operator`: further operators of the node in this home, which needs no running node and takes effect at once;
and the way into the operator's pages.
"""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, HomeOption, NodeOption
from choir.foundation.clock import SystemClock, SystemEntropy
from choir.operations.operators import OperatorList

app = typer.Typer(help="Add, list and remove operators, each with a token of their own.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="Lower-case letters, digits and hyphens.", metavar="NAME")]


@app.command(epilog="Example: choir operator add grace")
def add(name: NameArgument, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Create a token for another operator. It is shown only once; the node stores its hash."""
    output.want_json(as_json)
    token = _operators(home).add(name, SystemEntropy(), SystemClock())
    if as_json:
        output.print_json({"name": name, "source": f"operator:{name}", "token": token})
        return
    output.say(f"Added operator:{name}. This is their token; it is not shown again:")
    output.print_line(token)


@app.command("ls", epilog="Example: choir operator ls")
def ls(home: HomeOption = None, as_json: AsJson = False) -> None:
    """List the additional operators."""
    output.want_json(as_json)
    found = _operators(home).all()
    if as_json:
        output.print_json([{"name": item.name, "added_at": item.added_at} for item in found])
    elif found:
        output.print_table(["name", "added"], [(item.name, item.added_at) for item in found])
    else:
        output.print_line("There are no additional operators.")


@app.command("open", epilog="Example: choir operator open")
def open_(
    browser: Annotated[
        bool, typer.Option("--browser", help="Open it in a browser; other users here may see the address meanwhile.")
    ] = False,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print an address that opens the operator's pages in a browser, once and for a short time."""
    import webbrowser

    from choir.doors.logins.approval import checked_url

    output.want_json(as_json)
    if not output.settings_of().token:  # a named operator's own token counts; else this home's
        output.want_operator(True)
    with output.client_of(node) as client:
        made = client.operator.code()
    url = checked_url(made.url)
    if as_json:
        output.print_json(made.model_dump())
    else:
        output.say(f"Open this address in your browser. It works once, until {made.expires_at}:")
        output.print_line(url)
    if browser:
        webbrowser.open(url)


@app.command(epilog="Example: choir operator remove grace")
def remove(name: NameArgument, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Remove an operator and revoke their token. Past actions keep their name."""
    output.want_json(as_json)
    _operators(home).remove(name)
    if as_json:
        output.print_json({"name": name, "removed": True})
    else:
        output.print_line(f"Removed operator:{name}.")


def _operators(home: str | None) -> OperatorList:
    return OperatorList(output.settings_of(home).home)
