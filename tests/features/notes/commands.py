"""`choir note`."""

from __future__ import annotations

import typer

from choir.doors.cli import output

app = typer.Typer(help="Keep notes.", no_args_is_help=True)


@app.command("ls", epilog="Example: choir note ls")
def ls() -> None:
    """List the notes."""
    output.print_line("no notes")


@app.command("add", epilog="Example: choir note add milk")
def add(text: str) -> None:
    """Keep a note."""
    output.print_line(text)
