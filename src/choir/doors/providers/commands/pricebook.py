"""`choir provider pricebook`: prices, whose versions are kept for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.providers.commands.own_provider import ProviderCall, own_provider, sat, typed_price

if TYPE_CHECKING:
    from choir.doors.providers.shapes import BookOut

app = typer.Typer(help="Show and set your provider's prices.", no_args_is_help=True)

TypeArgument = Annotated[str, typer.Argument(help="run, review, patch or text.", metavar="TYPE")]


@app.command("show", epilog="Example: choir provider pricebook show")
@own_provider
def show(asking: ProviderCall) -> None:
    """Show current prices."""
    with asking.client() as client:
        found = [offer.book for offer in client.providers.me().offers if offer.offered and offer.book is not None]
    _print(found, as_json=asking.as_json)


@app.command(
    "set", epilog="Example: choir provider pricebook set run --base 150 --per-unit 0.4 --cap 4000 --from 2026-12-01"
)
@own_provider
def set_(
    type_: TypeArgument,
    base: Annotated[str, typer.Option("--base", help="Price per job, in SAT.", metavar="SAT")],
    per_unit: Annotated[
        str, typer.Option("--per-unit", help="Price per file, CPU second or 1000 tokens, in SAT.", metavar="SAT")
    ],
    cap: Annotated[str, typer.Option("--cap", help="Maximum price of a job, in SAT.", metavar="SAT")],
    from_: Annotated[
        str | None, typer.Option("--from", help="When it takes effect, in UTC; default: now.", metavar="TIME")
    ] = None,
    *,
    asking: ProviderCall,
) -> None:
    """Publish new prices for a type. Jobs already assigned keep the old ones."""
    from choir.doors.provider.model import job_type
    from choir.foundation.clock import format_time, parse_time

    with output.reading_options():
        kind = job_type(type_)
        prices = [typed_price(text) for text in (base, per_unit, cap)]
        at = format_time(parse_time(from_)) if from_ is not None else None
    with asking.client() as client:
        made = client.providers.publish(kind, prices[0], prices[1], prices[2], effective_at=at)
    if asking.as_json:
        output.print_json(made.model_dump(mode="json"))
    else:
        _print([made], as_json=False)


@app.command("history", epilog="Example: choir provider pricebook history run")
@own_provider
def history(type_: TypeArgument, *, asking: ProviderCall) -> None:
    """Show every version of the prices for a type, newest first."""
    from choir.doors.provider.model import job_type

    with output.reading_options():
        kind = job_type(type_)
    with asking.client() as client:
        found = list(client.providers.books(client.providers.me().id, kind))
    _print(found, as_json=asking.as_json)


def _print(found: list[BookOut], *, as_json: bool) -> None:
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
        return
    from choir.doors.provider.model import short_type

    rows = [
        (
            short_type(item.type), str(item.version), sat(item.base), sat(item.per_unit), item.unit.replace("_", " "),
            sat(item.cap), _to_the_second(item.effective_at),
        )
        for item in found
    ]  # fmt: skip
    columns = ["type", "version", "base SAT", "per unit SAT", "unit", "cap SAT", "from"]
    output.print_table(columns, rows, right=(1, 2, 3, 5), whole=(0, 6))


def _to_the_second(at: str) -> str:
    return f"{at[:19]}Z"
