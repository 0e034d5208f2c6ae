"""`choir bench`: measure this machine; ratios within one run."""

from __future__ import annotations

import typer

app = typer.Typer(help="Measure, as ratios within one run.", no_args_is_help=True)
