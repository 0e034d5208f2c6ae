"""`choir job`: buy work, follow it, check it, dispute it.

Exit codes of what waits for a result: 0 it was delivered, verified and paid; 1 it was not, or was refused; 2 wrong
usage; 3 no node; 4 not allowed; 5 what came does not fit its hashes, signatures or our own checks; 6 not done in the
time to wait, and it goes on; 130 after Ctrl-C, and it goes on too. Amounts are in SAT with three decimals.
"""

from __future__ import annotations

import typer

from choir.doors.cli import groups as helping


class Group(helping.Group):
    """Which commands are in which module."""

    parts = helping.parts_of(
        __name__,
        {
            "submitting:app": "submit",
            "looking:register": "ls show cancel",
            "explaining:register": "explain",
            "following:register": "watch",
            "getting:register": "result",
            "verifying:register": "verify",
            "receipts:register": "receipt",
            "disputing:app": "dispute",
        },
    )


app = typer.Typer(help="Buy work that is verified before it is paid.", no_args_is_help=True, cls=Group)
