"""`choir provider bid`: ask less than the price book for a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.providers.commands.own_provider import ProviderCall, own_provider
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from choir.doors.providers.market_shapes import BidOut

_PERCENT = 100


def register(app: typer.Typer) -> None:
    app.command("bid", epilog="Example: choir provider bid patch --below 15 --hours 8")(bid)


@own_provider
def bid(
    type_: Annotated[str, typer.Argument(help="run, review, patch or text.", metavar="TYPE")],
    below: Annotated[
        float | None, typer.Option("--below", help="Percent below your price book.", min=0.01, max=100)
    ] = None,
    hours: Annotated[float, typer.Option("--hours", help="How long the bid stands.", min=0.01)] = 24,
    off: Annotated[bool, typer.Option("--off", help="Ask the book's prices again.")] = False,
    *,
    asking: ProviderCall,
) -> None:
    """Bid below your price book for new jobs of a type. What is paid is the bid, never more than the book."""
    from choir.doors.provider.model import job_type
    from choir.foundation.clock import MICROSECONDS, SystemClock, format_time

    with output.reading_options():
        kind = job_type(type_)
        if off == (below is not None):
            raise Invalid(what="The bid", why="give either --below or --off")
    with asking.client() as client:
        if below is None:
            made = client.providers.end_bid(kind)
        else:
            now_us = SystemClock().now_us() + int(client.ahead_s * MICROSECONDS)
            until = format_time(now_us + int(hours * 3_600 * MICROSECONDS))
            made = client.providers.bid(kind, round(below * _PERCENT), until)
    _show(made, as_json=asking.as_json)


def _show(made: BidOut, *, as_json: bool) -> None:
    if as_json:
        output.print_json(made.model_dump(mode="json"))
    elif made.bid_bps:
        output.print_line(f"{made.type.word}: {made.bid_bps / _PERCENT:g} % below the book until {made.until}")
    else:
        output.print_line(f"{made.type.word}: no bid; the book's prices hold")
