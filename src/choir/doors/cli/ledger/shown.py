"""How the ledger's commands read what a person typed and show what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.foundation.money import Asset
from choir.ledger.model import account_name

if TYPE_CHECKING:
    from choir.doors import wire

AccountArgument = Annotated[str, typer.Argument(help="Such as person:ada/available/CREDIT.", metavar="ACCOUNT")]
AmountArgument = Annotated[str, typer.Argument(help="With decimals, such as 12.50.", metavar="AMOUNT")]
HoldArgument = Annotated[str, typer.Argument(help="Such as hold_01h….", metavar="HOLD")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; stands in the journal for ever, so no names.")]


def units_of(account: str, amount: str) -> int:
    """Smallest units of an account's asset from what a person typed."""
    return account_name(account).asset.parse(amount)


def amount_of(asset: str, units: str) -> str:
    """What a person reads."""
    return Asset.of(asset).format(int(units))


def show_account(found: wire.AccountOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    state = "" if found.state == "open" else f" ({found.state})"
    output.print_line(f"{found.name}  {amount_of(found.asset, found.balance)} {found.asset}{state}")


def show_posted(posted: wire.PostedOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(posted.model_dump())
    else:
        again = " (accepted before, nothing new happened)" if posted.again else ""
        output.print_line(f"{posted.id}  number {posted.seq} at {posted.at}{again}")
