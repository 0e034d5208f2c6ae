"""`choir ledger accounts|open|freeze|unfreeze|close|balance|statement|trial-balance`."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.ledger.commands.presentation import (
    AccountArgument,
    ReasonOption,
    account_typed,
    amount_of,
    show_account,
)
from choir.foundation.policy import PAGE_ROWS_MOST


def register(app: typer.Typer) -> None:
    app.command("accounts", epilog="Example: choir ledger accounts --prefix person:ada")(accounts)
    app.command("open", epilog="Example: choir ledger open person:ada/available/SAT")(open_)
    for name, (told, example) in _ACTS.items():
        app.command(name, help=told, epilog=f"Example: choir ledger {name} {example}")(_act_command(name))
    app.command("balance", epilog="Example: choir ledger balance person:ada/available/SAT --at 2026-01-01T00:00:00Z")(
        balance
    )
    app.command("statement", epilog="Example: choir ledger statement person:ada/available/SAT --limit 20")(statement)
    app.command("trial-balance", epilog="Example: choir ledger trial-balance")(trial_balance)


def accounts(
    prefix: Annotated[str, typer.Option(help="Only accounts whose name starts with this.")] = "",
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List accounts and their balances."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(client.accounts(prefix))
    if as_json:
        output.print_json([item.model_dump() for item in found])
        return
    rows = [(item.name, amount_of(item.asset, item.balance), item.asset, item.state) for item in found]
    output.print_table(["account", "balance", "asset", "state"], rows, right=[1])


def open_(
    account: AccountArgument,
    reason: ReasonOption = "opened by an operator",
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Open an account. Idempotent."""
    output.want_json(as_json)
    account_typed(account)
    with output.client_of(node) as client:
        found = client.open_account(account, reason=reason)
    show_account(found, as_json=as_json)


_ACTS = {
    "freeze": ("Freeze an account: every movement is refused.", "person:eve/available/SAT --reason 'under review'"),
    "unfreeze": ("Unfreeze an account.", "person:eve/available/SAT --reason 'reviewed'"),
    "close": ("Close an empty account permanently.", "person:eve/available/SAT --reason 'asked by the owner'"),
}


def _act_command(name: str) -> output.Command:
    """The command for one of the acts on an account, which differ in nothing but their name."""

    def act(account: AccountArgument, reason: ReasonOption, node: NodeOption = None, as_json: AsJson = False) -> None:
        output.want_json(as_json)
        account_typed(account)
        with output.client_of(node) as client:
            acts = {"freeze": client.freeze, "unfreeze": client.unfreeze, "close": client.close_account}
            found = acts[name](account, reason=reason)
        show_account(found, as_json=as_json)

    return act


def balance(
    account: AccountArgument,
    at: Annotated[str | None, typer.Option(help="At this time, ISO 8601.")] = None,
    at_seq: Annotated[int | None, typer.Option(help="After this entry's number.", min=0)] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a balance, now or at any past point."""
    output.want_json(as_json)
    if at is not None and at_seq is not None:
        raise typer.BadParameter("give --at or --at-seq, not both")
    account_typed(account)
    with output.client_of(node) as client:
        found = client.balance(account, at_time=at, at_seq=at_seq)
    show_account(found, as_json=as_json)


def statement(
    account: AccountArgument,
    limit: Annotated[int, typer.Option(help="Maximum number of lines.", min=1, max=PAGE_ROWS_MOST)] = 100,
    cursor: Annotated[str | None, typer.Option(help="Continue after this line.")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the movements of an account, oldest first."""
    output.want_json(as_json)
    account_typed(account)
    with output.client_of(node) as client:
        page = client.statement(account, cursor=cursor, limit=limit)
    if as_json:
        output.print_json(page.model_dump())
        return
    rows = [
        (
            line.at,
            line.kind,
            amount_of(page.asset, line.delta),
            amount_of(page.asset, line.balance),
            line.other,
            line.reason,
        )
        for line in page.items
    ]
    output.print_table(["time", "kind", "moved", "balance", "counterparty", "reason"], rows, right=[2, 3])
    output.say_there_is_more(page.next)


def trial_balance(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show the trial balance by asset and role; each asset sums to zero."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.trial_balance()
    if as_json:
        output.print_json(found.model_dump())
    else:
        rows = [(one.asset, one.role, str(one.accounts), amount_of(one.asset, one.balance)) for one in found.lines]
        output.print_table(["asset", "role", "accounts", "balance"], rows, right=[2, 3])
        output.print_line("\nEvery asset sums to zero." if found.balanced else "\nIT DOES NOT BALANCE.")
    if not found.balanced:
        raise typer.Exit(output.EXIT_DIFFERENCE)
