"""`choir article`: write, read, compare, revise, export and verify articles."""

from __future__ import annotations

import typer

from choir.doors.articles.commands import drafts, evidence, revisions

app = typer.Typer(help="Write articles whose every claim can be checked.", no_args_is_help=True)
for part in (drafts, evidence, revisions):
    part.register(app)
