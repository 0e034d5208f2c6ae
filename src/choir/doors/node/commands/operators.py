"""`choir operator`: further operators of the node in this home, which needs no running node and takes effect at once;
the way into the operator's pages; and what the node is at.
"""

from __future__ import annotations

from collections.abc import Sequence
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


@app.command(epilog="Example: choir operator work --json")
def work(
    limit: Annotated[int, typer.Option(help="Rows of each listing.", min=1, max=100)] = 20,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what the node is at: failing tasks, subscribers of events, jobs by state, providers online."""
    output.want_json(as_json)
    if not output.settings_of().token:
        output.want_operator(True)
    with output.client_of(node) as client:
        found = client.operator.work(limit=limit)
    if as_json:
        output.print_json(found.model_dump())
        return
    failing = [(item.name, item.key, str(item.attempts), item.error) for item in found.failing]
    behind = [
        (item.name, str(item.behind), str(item.waiting), item.stuck.error if item.stuck else "")
        for item in found.subscribers
    ]
    states = [(state, str(count)) for state, count in found.job_counts.items() if count]
    online = [
        (item.name or item.id, item.heard_at, f"{item.in_use} of {item.slots}", _condition(item.healthy, item.draining))
        for item in found.providers
    ]
    _listing("No task fails.", ["failing task", "key", "attempts", "error"], failing)
    _listing("Nothing listens for events.", ["subscriber", "behind", "waiting", "stuck at"], behind)
    _listing("There are no jobs.", ["jobs", "count"], states)
    _listing("No provider is online.", ["provider online", "heard from", "in use", "condition"], online)


@app.command(epilog="Example: choir operator remove grace")
def remove(name: NameArgument, home: HomeOption = None, as_json: AsJson = False) -> None:
    """Remove an operator and revoke their token. Past actions keep their name."""
    output.want_json(as_json)
    _operators(home).remove(name)
    if as_json:
        output.print_json({"name": name, "removed": True})
    else:
        output.print_line(f"Removed operator:{name}.")


def _listing(empty: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        output.print_table(columns, rows)
    else:
        output.print_line(empty)


def _condition(healthy: bool, draining: bool) -> str:
    return "draining" if draining and healthy else "well" if healthy else "not well"


def _operators(home: str | None) -> OperatorList:
    return OperatorList(output.settings_of(home).home)
