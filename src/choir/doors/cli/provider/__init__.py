"""`choir provider`: sell work, and see how it goes.

`serve` is a process of its own that speaks to a node like any other client. The rest asks the node. Amounts are typed
and shown in SAT with three decimals.
"""

from __future__ import annotations

import typer

from choir.doors.cli.provider import books, looking, serve, verifying

app = typer.Typer(help="Sell work: serve a provider, its prices, its earnings.", no_args_is_help=True)
for part in (serve, looking, verifying):
    part.register(app)
app.add_typer(books.app, name="pricebook")
