"""How the ledger's commands read what a person typed and show what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from choir.doors.cli import output
from choir.foundation.errors import Invalid
from choir.foundation.ids import parse_id
from choir.foundation.money import Asset
from choir.ledger.model import HOLD_ACCOUNTS, AccountName, BadAccountName, account_name, hold_id

if TYPE_CHECKING:
    from choir.doors.ledger.shapes import AccountOut, PostedOut

AccountArgument = Annotated[str, typer.Argument(help="Such as person:ada/available/SAT.", metavar="ACCOUNT")]
AmountArgument = Annotated[str, typer.Argument(help="With decimals, such as 12.50.", metavar="AMOUNT")]
HoldArgument = Annotated[
    str, typer.Argument(help="Such as hold_01h…, or its account as a statement shows it.", metavar="HOLD")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; permanent in the journal, so no names.")]


def units_of(account: str, amount: str) -> int:
    """Smallest units of an account's asset from what a person typed."""
    return account_typed(account).asset.parse(amount)


def account_typed(text: str) -> AccountName:
    """An account as a person typed it; who wrote the asset in small letters is told what is wrong."""
    try:
        return account_name(text)
    except BadAccountName:
        owner, _, asset = text.rpartition("/")
        capitals = asset.upper()
        if capitals == asset or not _is_account(f"{owner}/{capitals}"):
            raise
    raise BadAccountName(name=text, why=f"the asset is written in capitals: {capitals}")


def _is_account(text: str) -> bool:
    try:
        account_name(text)
    except Invalid:
        return False
    return True


def hold_typed(text: str) -> str:
    """The id of a hold that was named by its id, or by the account that its money is in."""
    if text.startswith(HOLD_ACCOUNTS):
        owner = text.removeprefix(HOLD_ACCOUNTS).partition("/")[0]
        try:
            return hold_id(UUID(owner))
        except ValueError:
            raise Invalid(what=f"the hold '{text[:80]}'", why="write it like hold_01h…, as it was placed") from None
    return hold_id(parse_id("hold", text))


def amount_of(asset: str, units: str) -> str:
    """What a person reads."""
    return Asset.of(asset).format(int(units))


def show_account(found: AccountOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    state = "" if found.state == "open" else f" ({found.state})"
    output.print_line(f"{found.name}  {amount_of(found.asset, found.balance)} {found.asset}{state}")


def show_posted(posted: PostedOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(posted.model_dump())
    else:
        output.print_line(f"{posted.id}  number {posted.seq} at {posted.at}{repeated(posted)}")


def repeated(posted: PostedOut) -> str:
    """What is said behind an answer to a request that was accepted before."""
    return " (already accepted; nothing new was posted)" if posted.again else ""
