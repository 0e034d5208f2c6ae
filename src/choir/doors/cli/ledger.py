"""`choir ledger`: the ledger on the command line.

`verify`, `export` and `import` open the database; everything else goes through the SDK. Amounts are
typed and shown with decimals; the asset follows from the account.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from choir.doors.cli import ledger_files, output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.clock import format_time, from_datetime
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset
from choir.ledger.model import account_name

if TYPE_CHECKING:
    from choir.doors import wire

app = typer.Typer(help="Accounts, entries, holds, statements and proofs.", no_args_is_help=True)
ledger_files.register(app)
T = TypeVar("T", bound="wire.Wire")

AccountArgument = Annotated[str, typer.Argument(help="Such as person:ada/available/CREDIT.", metavar="ACCOUNT")]
AmountArgument = Annotated[str, typer.Argument(help="With decimals, such as 12.50.", metavar="AMOUNT")]
HoldArgument = Annotated[str, typer.Argument(help="Such as hold_01h….", metavar="HOLD")]
EntryArgument = Annotated[str, typer.Argument(help="Such as entry_01h….", metavar="ENTRY")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; stands in the journal for ever, so no names.")]


@app.command("accounts", epilog="Example: choir ledger accounts --prefix person:ada")
def accounts(
    prefix: Annotated[str, typer.Option(help="Only accounts whose name begins with this.")] = "",
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
    rows = [(item.name, _shown(item.asset, item.balance), item.asset, item.state) for item in found]
    output.print_table(["account", "balance", "asset", "state"], rows, right=[1])


@app.command("open", epilog="Example: choir ledger open person:ada/available/CREDIT")
def open_(
    account: AccountArgument,
    reason: ReasonOption = "opened by an operator",
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Open an account; opening it again changes nothing."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_account(client.open_account(account, reason=reason), as_json=as_json)


@app.command("freeze", epilog="Example: choir ledger freeze person:eve/available/CREDIT --reason 'under review'")
def freeze(account: AccountArgument, reason: ReasonOption, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Refuse every movement of an account."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_account(client.freeze(account, reason=reason), as_json=as_json)


@app.command("unfreeze", epilog="Example: choir ledger unfreeze person:eve/available/CREDIT --reason 'reviewed'")
def unfreeze(account: AccountArgument, reason: ReasonOption, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Let a frozen account move again."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_account(client.unfreeze(account, reason=reason), as_json=as_json)


@app.command("close", epilog="Example: choir ledger close person:eve/available/CREDIT --reason 'asked by the owner'")
def close(account: AccountArgument, reason: ReasonOption, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Close an empty account for ever."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_account(client.close_account(account, reason=reason), as_json=as_json)


@app.command("balance", epilog="Example: choir ledger balance person:ada/available/CREDIT --at 2026-01-01T00:00:00Z")
def balance(
    account: AccountArgument,
    at: Annotated[str | None, typer.Option(help="At this moment, ISO 8601.")] = None,
    at_seq: Annotated[int | None, typer.Option(help="After this entry's number.")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a balance, now or at any past point."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_account(client.balance(account, at_time=at, at_seq=at_seq), as_json=as_json)


@app.command(
    "transfer",
    epilog="Example: choir ledger transfer person:ada/available/CREDIT person:bob/available/CREDIT 12.50 --reason rent",
)
def transfer(
    payer: Annotated[str, typer.Argument(help="The account that pays.", metavar="FROM")],
    payee: Annotated[str, typer.Argument(help="The account that receives.", metavar="TO")],
    amount: AmountArgument,
    reason: ReasonOption = "transfer",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Move an amount from one account to another."""
    output.want_json(as_json)
    units = _units(payer, amount)
    with output.client_of(node) as client:
        _show_posted(client.transfer(payer, payee, units, reason=reason, key=key), as_json=as_json)


@app.command("post", epilog="Example: echo '{\"entries\": […]}' | choir ledger post -")
def post(
    file: Annotated[str, typer.Argument(help="A JSON file with one entry or a batch; - for standard input.")],
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Post an entry with any legs, or a batch, from JSON (amounts in smallest units).

    An entry: {"reason": "…", "legs": [{"from": "…", "to": "…", "amount": "100"}]}.
    A batch: {"entries": [{"key": "…", "reason": "…", "legs": […], "link": "a"}]}.
    """
    from choir.doors import wire

    output.want_json(as_json)
    value = _read_json(file)
    with output.client_of(node) as client:
        if "entries" in value:
            batch = _shaped(wire.BatchIn, value, file)
            _show_batch(client.post_batch(item.model_dump(by_alias=True) for item in batch.entries), as_json=as_json)
            return
        entry = _shaped(wire.EntryIn, value, file)
        _show_posted(client.post_entry(entry, key=key), as_json=as_json)


@app.command("hold", epilog="Example: choir ledger hold person:ada/available/SAT 1000 --for 3600 --reason 'job 12'")
def hold(
    payer: AccountArgument,
    amount: AmountArgument,
    seconds: Annotated[int, typer.Option("--for", help="Seconds until it expires.", min=1)] = 3600,
    until: Annotated[
        str | None, typer.Option(help="When it expires, ISO 8601; say it to be able to repeat the call with its --key.")
    ] = None,
    captures: Annotated[int, typer.Option(help="How many captures are allowed.", min=1)] = 1,
    reason: ReasonOption = "hold",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Set money aside until it is captured, released, or its time is over."""
    output.want_json(as_json)
    units = _units(payer, amount)
    expires_at = until or format_time(from_datetime(datetime.now(UTC) + timedelta(seconds=seconds)))
    with output.client_of(node) as client:
        placed = client.hold(payer, units, expires_at=expires_at, captures=captures, reason=reason, key=key)
    if as_json:
        output.print_json(placed.model_dump())
        return
    output.print_line(
        f"{placed.hold.id} holds {_shown(placed.hold.asset, placed.hold.remaining)} {placed.hold.asset}"
        f" until {placed.hold.expires_at}"
    )


@app.command("capture", epilog="Example: choir ledger capture hold_01h… person:bob/available/SAT 400 --reason paid")
def capture(
    hold_: HoldArgument,
    payee: Annotated[str, typer.Argument(help="The account that receives.", metavar="TO")],
    amount: AmountArgument,
    more: Annotated[bool, typer.Option("--more", help="Keep what remains in the hold for another capture.")] = False,
    reason: ReasonOption = "capture",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Pay out of a hold; what remains goes back to its payer unless --more is given."""
    output.want_json(as_json)
    units = _units(payee, amount)
    with output.client_of(node) as client:
        _show_posted(client.capture(hold_, [(payee, units)], final=not more, reason=reason, key=key), as_json=as_json)


@app.command("release", epilog="Example: choir ledger release hold_01h… --reason 'job was cancelled'")
def release(
    hold_: HoldArgument,
    reason: ReasonOption = "release",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Give back what remains in a hold."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        _show_posted(client.release(hold_, reason=reason, key=key), as_json=as_json)


@app.command("statement", epilog="Example: choir ledger statement person:ada/available/CREDIT --limit 20")
def statement(
    account: AccountArgument,
    limit: Annotated[int, typer.Option(help="How many lines at most.", min=1, max=1000)] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on behind this line.")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the movements of an account, oldest first."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        page = client.statement(account, cursor=cursor, limit=limit)
    if as_json:
        output.print_json(page.model_dump())
        return
    rows = [
        (line.at, line.kind, _shown(page.asset, line.delta), _shown(page.asset, line.balance), line.other, line.reason)
        for line in page.items
    ]
    output.print_table(["time", "kind", "moved", "balance", "other side", "reason"], rows, right=[2, 3])
    if page.next:
        output.say(f"There is more: --cursor {page.next}")


@app.command("entries", epilog="Example: choir ledger entries --limit 20 --cursor 100")
def entries(
    limit: Annotated[int, typer.Option(help="How many entries at most.", min=1, max=1000)] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on behind this entry's number.")] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List the journal, oldest first."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        page = client.entries(cursor=cursor, limit=limit)
    if as_json:
        output.print_json(page.model_dump())
        return
    rows = [
        (str(item.seq), item.at, item.content["kind"], item.content["reason"], item.content["source"], item.id)
        for item in page.items
    ]
    output.print_table(["number", "time", "kind", "reason", "by", "entry"], rows, right=[0])
    if page.next:
        output.say(f"There is more: --cursor {page.next}")


@app.command("show", epilog="Example: choir ledger show hold_01h…")
def show(
    subject: Annotated[str, typer.Argument(help="An entry or a hold.", metavar="ENTRY|HOLD")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show one entry as the journal has it, or one hold and what remains in it."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        if not subject.startswith("hold_"):
            output.print_json(client.entry(subject).model_dump())
            return
        hold = client.get_hold(subject)
    if as_json:
        output.print_json(hold.model_dump())
        return
    state = "closed" if hold.closed else f"open until {hold.expires_at}"
    output.print_line(f"{hold.id}  {_shown(hold.asset, hold.remaining)} {hold.asset} remain of {hold.payer}'s, {state}")
    output.print_line(f"  captures  {hold.captures} of {hold.captures_max}")


@app.command("trial-balance", epilog="Example: choir ledger trial-balance")
def trial_balance(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show every asset and role with their sums; each asset sums to zero."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.trial_balance()
    if as_json:
        output.print_json(found.model_dump())
    else:
        rows = [(line.asset, line.role, str(line.accounts), _shown(line.asset, line.balance)) for line in found.lines]
        output.print_table(["asset", "role", "accounts", "balance"], rows, right=[2, 3])
        output.print_line("\nEvery asset sums to zero." if found.balanced else "\nIT DOES NOT BALANCE.")
    if not found.balanced:
        raise typer.Exit(output.EXIT_DIFFERENCE)


@app.command("checkpoint", epilog="Example: choir ledger checkpoint > checkpoint.note")
def checkpoint(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Sign a checkpoint over everything posted so far. Keep it: it shows later whether history was changed."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.checkpoint()
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_bytes(found.note.encode())  # a note is UTF-8, whatever the terminal is


@app.command("prove", epilog="Example: choir ledger prove entry_01h… > proof.json")
def prove(
    entry: Annotated[str | None, typer.Argument(help="Such as entry_01h….", metavar="ENTRY")] = None,
    consistency: Annotated[
        int | None, typer.Option(help="Prove instead that a checkpoint of this size was only added to.", metavar="SIZE")
    ] = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Print a proof that an entry is in the journal; auditor/choir_verify.py checks it."""
    output.want_json(as_json)
    if (entry is None) == (consistency is None):
        raise typer.BadParameter("give an entry, or --consistency SIZE")
    with output.client_of(node) as client:
        if entry is not None:
            output.print_json(client.prove(entry).model_dump())
        else:
            assert consistency is not None
            output.print_json(client.prove_consistency(consistency).model_dump(by_alias=True))


def fund(
    account: AccountArgument,
    amount: AmountArgument,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Give an account money out of nothing (development nodes only).

    Example: choir fund person:ada/available/CREDIT 100
    """
    output.want_json(as_json)
    units = _units(account, amount)
    with output.client_of(node) as client:
        posted = client.fund(account, units, key=key)
        if as_json:
            output.print_json(posted.model_dump())
        else:
            _show_account(client.balance(account), as_json=False)


def explain(entry: EntryArgument, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Say in words what an entry did, by which rules, and what proves it.

    Example: choir explain entry_01h…
    """
    output.want_json(as_json)
    with output.client_of(node) as client:
        told = client.explain(entry)
    if as_json:
        output.print_json(told.model_dump())
    else:
        output.print_line("\n".join(told.sentences))


def _units(account: str, amount: str) -> int:
    return account_name(account).asset.parse(amount)


def _shown(asset: str, units: str) -> str:
    return Asset.of(asset).format(int(units))


def _show_account(found: wire.AccountOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    state = "" if found.state == "open" else f" ({found.state})"
    output.print_line(f"{found.name}  {_shown(found.asset, found.balance)} {found.asset}{state}")


def _show_posted(posted: wire.PostedOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(posted.model_dump())
    else:
        again = " (accepted before, nothing new happened)" if posted.again else ""
        output.print_line(f"{posted.id}  number {posted.seq} at {posted.at}{again}")


def _show_batch(batch: wire.BatchOut, *, as_json: bool) -> None:
    refused = sum(1 for item in batch.results if item.problem is not None)
    if as_json:
        output.print_json(batch.model_dump())
    else:
        for item in batch.results:
            if item.posted is not None:
                _show_posted(item.posted, as_json=False)
            elif item.problem is not None:
                output.print_line(f"refused: {item.problem.detail}")
    if refused:
        raise typer.Exit(output.EXIT_REFUSED)


def _shaped(shape: type[T], value: dict[str, Any], file: str) -> T:
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Invalid(what=f"The input {file}", why=f"{place}: {first['msg']}") from None


def _read_json(file: str) -> dict[str, Any]:
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        value = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise Invalid(what=f"The input {file}", why=f"it cannot be read as JSON ({error})") from None
    if not isinstance(value, dict):
        raise Invalid(what=f"The input {file}", why="it must be a JSON object")
    return value
