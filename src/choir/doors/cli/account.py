"""`choir account`: one's own money."""

from __future__ import annotations

import typer

from choir.doors.cli import output
from choir.doors.cli.ledger.shown import amount_of
from choir.doors.cli.output import AsJson, NodeOption


def register(app: typer.Typer) -> None:
    app.command("account", epilog="Example: choir account --json")(account)


def account(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show your own accounts and their balances."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(client.me.accounts())
        operator = client.who.source == "operator"
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    if not found:
        output.say(
            "The operator owns no accounts; `choir ledger accounts` lists everybody's." if operator else "None yet."
        )
        return
    rows = [(item.name, amount_of(item.asset, item.balance), item.asset, item.state) for item in found]
    output.print_table(["account", "balance", "asset", "state"], rows, right=[1])
