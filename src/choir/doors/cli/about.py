"""`choir help|version`: what can be typed, and what this is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson


def register(app: typer.Typer) -> None:
    app.command("help", epilog="Example: choir help job submit")(help_)
    app.command("version", epilog="Example: choir version --json")(version)


def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="The command; default: all commands.", metavar="COMMAND")
    ] = None,
) -> None:
    """Show the help of a command, like --help."""
    at: Any = context.find_root()
    for word in command or []:
        below = getattr(at.command, "commands", {})
        name = getattr(at.command, "other_names", {}).get(word, word)
        if name not in below:
            at.fail(f"No such command '{word}'.")
        at = type(at)(below[name], info_name=name, parent=at)
    output.print_line(at.command.get_help(at))


def version(as_json: AsJson = False) -> None:
    """Show the version."""
    output.want_json(as_json)
    if as_json:
        output.print_json({"version": installed()})
    else:
        output.print_line(f"choir {installed()}")


def installed() -> str:
    """The version of Choir that runs."""
    from importlib.metadata import version as version_of

    return version_of("choir")
