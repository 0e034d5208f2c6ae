"""`choir ledger`: the ledger on the command line.

`verify`, `export` and `import` open the database; everything else goes through the SDK. Amounts are
typed and shown with decimals; the asset follows from the account.
"""

from __future__ import annotations

import typer

from choir.doors.cli import groups


class Group(groups.Group):
    """Which commands are in which module."""

    parts = groups.parts_of(
        __name__,
        {
            "accounts:register": "accounts open freeze unfreeze close balance statement trial-balance",
            "entries:register": "transfer post entries show",
            "holds:register": "hold capture release",
            "proofs:register": "checkpoint prove",
            "choir.doors.liabilities.commands:register": "liabilities",
            "files:register": "verify export import",
            "choir.doors.issuances.commands:app": "issue",
        },
    )


app = typer.Typer(help="Read and write the ledger: accounts, entries, holds, proofs.", no_args_is_help=True, cls=Group)
