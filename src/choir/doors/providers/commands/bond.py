"""`choir provider bond`: what a provider puts up from tier 1 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import KeyOption
from choir.doors.providers.commands.own_provider import ProviderCall, own_provider, sat
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.providers.market_shapes import BondOut

app = typer.Typer(help="Put up a bond, which every tier above 0 needs.", no_args_is_help=True)


@app.command("show", epilog="Example: choir provider bond show")
@own_provider
def show(asking: ProviderCall) -> None:
    """Show your provider's bond, and until when a buyer may need it."""
    with asking.client() as client:
        _print(client.providers.bond(), as_json=asking.as_json)


@app.command("add", epilog="Example: choir provider bond add 10000")
@own_provider
def add(
    amount: Annotated[str, typer.Argument(help="What to put up or add, in SAT.", metavar="SAT")],
    key: KeyOption = None,
    *,
    asking: ProviderCall,
) -> None:
    """Put up a bond or add to it. A buyer who wins a security dispute within 7 days is paid from it."""
    with output.reading_options():
        units = Asset.SAT.parse(amount)
    with asking.client() as client:
        _print(client.providers.add_bond(units, key=key), as_json=asking.as_json)


@app.command("release", epilog="Example: choir provider bond release")
@own_provider
def release(asking: ProviderCall) -> None:
    """Ask for your bond. Your tier counts as 0 from now on; the bond goes back when nobody can need it any more."""
    with asking.client() as client:
        _print(client.providers.release_bond(), as_json=asking.as_json)


@app.command("keep", epilog="Example: choir provider bond keep")
@own_provider
def keep(asking: ProviderCall) -> None:
    """Take back that you asked for your bond."""
    with asking.client() as client:
        _print(client.providers.keep_bond(), as_json=asking.as_json)


def _print(found: BondOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(f"bond {sat(found.amount)} SAT; tiers above 0 need {sat(found.needed)} SAT")
    if found.leaving_since:
        when = "when work and disputes are over" if found.exposed else f"after {found.exposed_until}"
        output.print_line(f"asked back since {found.leaving_since}; it goes back {when}")
