"""`choir provider`: sell work, and see how it goes.

`serve` is a process of its own that speaks to a node like any other client. The rest asks the node. Amounts are typed
and shown in SAT with three decimals.
"""

from __future__ import annotations

import typer

from choir.doors.cli import groups


class Group(groups.Group):
    """Which commands are in which module."""

    parts = groups.parts_of(
        __name__,
        {
            "serve:register": "serve",
            "lookup:register": "ls show status earnings retire",
            "verify:register": "verify receipt",
            "pricebook:app": "pricebook",
            "bids:register": "bid",
            "bond:app": "bond",
        },
    )


app = typer.Typer(help="Sell work: run a provider, set prices, see earnings.", no_args_is_help=True, cls=Group)
