"""`choir account`: one's own money, and the proof that the node owes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.ledger.commands.presentation import amount_of

if TYPE_CHECKING:
    from choir.doors.liabilities.shapes import LiabilitiesProofOut
    from choir.doors.sdk.client import Client

app = typer.Typer(
    help="Show your own accounts and their balances.",
    epilog="Example: choir account --json",
    invoke_without_command=True,
)


@app.callback()
def account(context: typer.Context, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show your own accounts and their balances."""
    if context.invoked_subcommand is not None:
        return
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(client.me.accounts())
        operator = client.who.source == "operator"
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    if not found:
        output.say("The operator owns no accounts; `choir ledger accounts` lists all." if operator else "None yet.")
        return
    rows = [(item.name, amount_of(item.asset, item.balance), item.asset, item.state) for item in found]
    output.print_table(["account", "balance", "asset", "state"], rows, right=[1])


@app.command(epilog="Example: choir account prove > liabilities-proof.json")
def prove(
    size: Annotated[int | None, typer.Option(help="Number of entries; default: last signed.", metavar="SIZE")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print and check a proof that the signed liabilities include what the node owes you.

    auditor/choir_verify.py checks it without trusting this program. The proof reveals no other balance.
    """
    output.want_json(as_json)
    with output.client_of(node) as client:
        proof = client.liabilities.prove(size)
        output.print_json(proof.model_dump())
        _check(client, proof)


def _check(client: Client, proof: LiabilitiesProofOut) -> None:
    from choir.doors.liabilities import proof as liabilities_proof

    note = liabilities_proof.check(client, proof)
    yours: dict[str, int] = {}
    for item in proof.accounts:
        asset = item.account.rpartition("/")[2]
        yours[asset] = yours.get(asset, 0) + int(item.balance) + int(item.held)
    journal = note.journal
    output.say(f"Verified. Your part of the liabilities of {journal.origin} after entry {journal.size}:")
    for total in note.totals:
        mine, all_ = (amount_of(total.asset, str(units)) for units in (yours.get(total.asset, 0), total.total))
        output.say(f"  {mine} of {all_} {total.asset}")
