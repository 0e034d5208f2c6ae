"""`choir ledger issue`: bring money into being, two operators together."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.ledger.commands.presentation import AccountArgument, AmountArgument, ReasonOption, amount_of, units_of
from choir.foundation.words import count, shown
from choir.ledger.model import account_name

if TYPE_CHECKING:
    from choir.doors.issuances.shapes import IssuanceOut

app = typer.Typer(
    help="Issue money: one operator proposes, another approves with their own token.",
    no_args_is_help=True,
)
IssuanceArgument = Annotated[str, typer.Argument(help="Such as issuance_01h….", metavar="ISSUANCE")]
_SHOWN = 20


@app.command(epilog="Example: choir ledger issue propose person:ada/available/SAT 500 --reason 'paid by invoice'")
def propose(
    payee: AccountArgument,
    amount: AmountArgument,
    payer: Annotated[
        str | None,
        typer.Option("--from", help="Default: system:node/issuance/ and the asset.", metavar="ACCOUNT"),
    ] = None,
    reason: ReasonOption = "issue",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose an issuance. Nothing is posted before another operator approves."""
    output.want_json(as_json)
    units = units_of(payee, amount)
    source = payer or f"system:node/issuance/{account_name(payee).asset.name}"
    with output.client_of(node) as client:
        found = client.issuances.propose([(source, payee, units)], reason=reason, key=key)
    _show(found, as_json=as_json)


@app.command("ls", epilog="Example: choir ledger issue ls --all")
def ls(
    everything: Annotated[bool, typer.Option("--all", help="Include closed issuances.")] = False,
    limit: Annotated[int, typer.Option(help="Maximum number of issuances.", min=1, max=10_000)] = _SHOWN,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List issuances that await approval, newest first."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(islice(client.issuances.all(state=None if everything else "open", limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump(by_alias=True) for item in found])
    elif found:
        for item in found:
            _show(item, as_json=False)
    else:
        output.print_line("No issuance awaits approval." if not everything else "No issuance was ever proposed.")


@app.command(epilog="Example: choir ledger issue show issuance_01h…")
def show(issuance: IssuanceArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show an issuance and its approvals."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show(client.issuances.get(issuance), as_json=as_json)


@app.command(epilog="Example: CHOIR_TOKEN=… choir ledger issue approve issuance_01h…")
def approve(issuance: IssuanceArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Approve an issuance; it is posted once enough operators approve. Check it first with `show`."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show(client.issuances.approve(issuance), as_json=as_json)


@app.command(epilog="Example: choir ledger issue withdraw issuance_01h…")
def withdraw(issuance: IssuanceArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Withdraw an issuance; any operator may."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show(client.issuances.withdraw(issuance), as_json=as_json)


def _show(item: IssuanceOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(item.model_dump(by_alias=True))
        return
    output.print_line(f"{item.id}  {item.state}, proposed by {item.proposed_by} at {item.proposed_at}")
    for leg in item.legs:
        asset = account_name(leg.from_).asset.name
        output.print_line(f"  {amount_of(asset, leg.amount)} {asset} from {leg.from_} to {leg.to}")
    output.print_line(f"  Reason: {shown(item.reason)}")
    output.print_line(f"  {what_next(item)}")


def what_next(item: IssuanceOut) -> str:
    """What became of it, or what has to happen."""
    if item.state == "posted":
        return f"Approved by {_approvers(item)}; posted as {item.entry}."
    if item.state == "withdrawn":
        return f"Withdrawn by {item.ended_by}."
    if item.state == "expired":
        return "Expired: too few operators approved in time."
    if item.operators_needed == 0:
        return f"Policy no longer allows this issuance: `choir ledger issue withdraw {item.id}`"
    approve = f"`choir ledger issue approve {item.id}`"
    missing = item.operators_needed - item.operators_agreed
    if missing <= 0:  # policy asked for more when the last of them agreed
        return f"Enough operators approved. It is posted when one who did not propose it approves (again): {approve}"
    return f"{count(missing, 'other operator')} must approve by {item.expires_at}: {approve}"


def _approvers(item: IssuanceOut) -> str:
    return " and ".join(dict.fromkeys(each.operator for each in item.approvals if each.operator != item.proposed_by))
