"""`choir job`: buy work, follow it, check it, dispute it.

Exit codes of what waits for a result: 0 it was delivered, verified and paid; 1 it was not, or was refused; 2 wrong
usage; 3 no node; 4 not allowed; 5 what came does not fit its hashes, signatures or our own checks; 6 not done in the
time to wait, and it goes on; 130 after Ctrl-C, and it goes on too. Amounts are in SAT with three decimals.
"""

from __future__ import annotations

import typer

from choir.doors.cli import groups


class Group(groups.Group):
    """Which commands are in which module."""

    parts = groups.parts_of(
        __name__,
        {
            "submit:app": "submit",
            "lookup:register": "ls show cancel",
            "sharing:register": "share unshare",
            "keeping:register": "keep",
            "explain:register": "explain",
            "watch:register": "watch",
            "result:register": "result",
            "verify:register": "verify",
            "receipt:register": "receipt",
            "trajectory:register": "trajectory",
            "choir.doors.disputes.commands:app": "dispute",
        },
    )


app = typer.Typer(help="Buy work that is verified before it is paid.", no_args_is_help=True, cls=Group)
