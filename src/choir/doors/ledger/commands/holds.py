"""`choir ledger hold|capture|release`."""

from __future__ import annotations

from typing import Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.ledger.commands.presentation import (
    AccountArgument,
    AmountArgument,
    HoldArgument,
    ReasonOption,
    amount_of,
    hold_typed,
    repeated,
    show_posted,
    units_of,
)

_FOR_S = 3600


def register(app: typer.Typer) -> None:
    app.command("hold", epilog="Example: choir ledger hold person:ada/available/SAT 1000 --for 3600 --reason 'job 12'")(
        hold
    )
    app.command("capture", epilog="Example: choir ledger capture hold_01h… person:bob/available/SAT 400 --reason paid")(
        capture
    )
    app.command("release", epilog="Example: choir ledger release hold_01h… --reason 'job was cancelled'")(release)


def hold(
    payer: AccountArgument,
    amount: AmountArgument,
    seconds: Annotated[
        int | None,
        typer.Option("--for", help=f"Seconds until it expires, by the node's clock.  [default: {_FOR_S}]", min=1),
    ] = None,
    until: Annotated[str | None, typer.Option(help="When it expires, ISO 8601, instead of --for.")] = None,
    captures: Annotated[int, typer.Option(help="Maximum number of captures.", min=1)] = 1,
    reason: ReasonOption = "hold",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Place a hold on money until it is captured, released or expires."""
    output.want_json(as_json)
    if seconds is not None and until is not None:
        raise typer.BadParameter("give --for or --until, not both")
    units = units_of(payer, amount)
    in_s = (seconds or _FOR_S) if until is None else None
    with output.client_of(node) as client:
        placed = client.hold(
            payer, units, expires_at=until, expires_in_s=in_s, captures=captures, reason=reason, key=key
        )
    if as_json:
        output.print_json(placed.model_dump())
        return
    output.print_line(
        f"{placed.hold.id} holds {amount_of(placed.hold.asset, placed.hold.remaining)} {placed.hold.asset}"
        f" until {placed.hold.expires_at}{repeated(placed.posted)}"
    )


def capture(
    hold_: HoldArgument,
    payee: Annotated[str, typer.Argument(help="The receiving account.", metavar="TO")],
    amount: AmountArgument,
    more: Annotated[bool, typer.Option("--more", help="Keep the rest in the hold for another capture.")] = False,
    reason: ReasonOption = "capture",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Capture from a hold. The rest is released to its payer unless --more is given."""
    output.want_json(as_json)
    units, id_ = units_of(payee, amount), hold_typed(hold_)
    with output.client_of(node) as client:
        posted = client.capture(id_, [(payee, units)], final=not more, reason=reason, key=key)
    show_posted(posted, as_json=as_json)


def release(
    hold_: HoldArgument,
    reason: ReasonOption = "release",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Release what remains in a hold."""
    output.want_json(as_json)
    id_ = hold_typed(hold_)
    with output.client_of(node) as client:
        posted = client.release(id_, reason=reason, key=key)
    show_posted(posted, as_json=as_json)
