"""`choir ledger`: the ledger on the command line.

`verify`, `export` and `import` open the database; everything else goes through the SDK. Amounts are
typed and shown with decimals; the asset follows from the account.
"""

from __future__ import annotations

import typer

from choir.doors.cli.ledger import accounts, entries, files, holds, issuing, liabilities, proofs

app = typer.Typer(help="Accounts, entries, holds, statements and proofs.", no_args_is_help=True)
for part in (accounts, entries, holds, proofs, liabilities, files):
    part.register(app)
app.add_typer(issuing.app, name="issue")
