"""`choir treasury`: the citation rate, the price of CHIP and the citation pool."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset
from choir.foundation.words import shown

if TYPE_CHECKING:
    from choir.doors.treasury.shapes import GovernedPriceOut, PoolFundOut

app = typer.Typer(help="Show the citation rate, the price of CHIP and the citation pool.", no_args_is_help=True)

MonthOption = Annotated[str | None, typer.Option("--month", help="Such as 2026-11; default: now.", metavar="MONTH")]
_ROWS = 24


@app.command(epilog="Example: choir treasury rate --month 2026-11")
def rate(month: MonthOption = None, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show what a citation of full weight pays in a month."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.treasury.rate(month)
    if as_json:
        output.print_json(found.model_dump())
        return
    figures = found.figures
    output.print_line(f"{found.month}  {_usdc(found.rate)} USDC per citation")
    output.print_line(f"  budget    {_usdc(figures['budget'])} USDC, of which {_usdc(figures['free'])} USDC are free")
    output.print_line(f"  fixed     {found.fixed_at}")
    output.say("How it came about: choir treasury explain")


@app.command(epilog="Example: choir treasury explain --month 2026-11")
def explain(month: MonthOption = None, node: NodeOption = None, as_json: AsJson = False) -> None:
    """Explain a month's rate: its inputs and the arithmetic."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.treasury.rate(month)
    if as_json:
        told = {"month": found.month, "sentences": found.sentences, "inputs": found.inputs, "figures": found.figures}
        output.print_json(told)
    else:
        output.print_line("\n".join(found.sentences))


@app.command(epilog="Example: choir treasury history --limit 12")
def history(
    limit: Annotated[int, typer.Option(help="Maximum number of months, newest first.", min=1)] = _ROWS,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """List the rates of past months."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(islice(client.treasury.rates(limit=min(limit, 100)), limit))
    if as_json:
        output.print_json([item.model_dump() for item in found])
    elif not found:
        output.say("No rate was fixed yet.")
    else:
        rows = [
            (item.month, _usdc(item.rate), _usdc(item.figures["price_used"]), _usdc(item.figures["budget"]))
            for item in found
        ]
        output.print_table(("month", "rate", "price of CHIP", "budget"), rows, right=(1, 2, 3), whole=(0,))


@app.command(epilog="Example: choir --operator treasury price --set 0.52 --reason 'sales of October'")
def price(
    new: Annotated[
        str | None, typer.Option("--set", help="For operators: USDC for one CHIP, such as 0.52.", metavar="PRICE")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, in plain text.", metavar="TEXT")] = None,
    approve: Annotated[
        str | None, typer.Option("--approve", help="For operators: a price that another proposed.", metavar="PRICE")
    ] = None,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show the price of CHIP and its history, or set it. Setting it again confirms it."""
    output.want_json(as_json)
    with output.reading_options():
        if (new is None) != (reason is None) or (new is not None and approve is not None):
            raise Invalid(what="The command", why="give --set together with --reason, or --approve, or none of them")
        units = None if new is None else Asset.USDC.parse(new)
    if units is None and approve is None:
        _show_price(node, as_json=as_json)
        return
    with output.client_of(node) as client:
        if approve is not None:
            found = client.treasury.approve_price(approve)
        else:
            assert units is not None
            assert reason is not None
            found = client.treasury.set_price(units, reason=reason, key=key)
    if as_json:
        output.print_json(found.model_dump())
    else:
        output.print_line(_price_line(found))
        if found.state == "open":
            output.say(f"Another operator must approve it: choir treasury price --approve {found.id}")


def _show_price(node: str | None, *, as_json: bool) -> None:
    with output.client_of(node) as client:
        now, past = client.treasury.price(), list(islice(client.treasury.prices(limit=_ROWS), _ROWS))
    if as_json:
        output.print_json(now.model_dump() | {"history": [item.model_dump() for item in past]})
        return
    stale = "; stale: the last valid price" if now.stale else ""
    output.print_line(f"{_usdc(now.price)} USDC for one CHIP ({now.source}, {now.at}{stale})")
    for item in past:
        output.print_line(f"  {_price_line(item)}")


def _price_line(item: GovernedPriceOut) -> str:
    return f"{item.id}  {_usdc(item.price)} USDC, {item.state}, by {item.proposed_by}: {shown(item.reason)}"


@app.command(epilog="Example: choir --operator treasury fund 100 --reason 'income of October'")
def fund(
    amount: Annotated[str, typer.Argument(help="USDC, such as 12.50.", metavar="AMOUNT")],
    reason: Annotated[
        str, typer.Option("--reason", help="Why; permanent in the journal, so no names.", metavar="TEXT")
    ],
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """For operators: fund the citation pool. On a production node another operator must approve."""
    output.want_json(as_json)
    with output.reading_options():
        units = Asset.USDC.parse(amount)
    with output.client_of(node) as client:
        found = client.treasury.fund(units, reason=reason, key=key)
    if as_json:
        output.print_json(found.model_dump(by_alias=True))
    else:
        output.print_line(_funded(found, units))


def _funded(found: PoolFundOut, units: int) -> str:
    amount = f"{_usdc(units)} USDC"
    if found.issuance is not None:
        approve = f"choir ledger issue approve {found.issuance.id}"
        return f"{amount} are proposed as {found.issuance.id}. Another operator must approve: {approve}"
    assert found.posted is not None
    again = " (already accepted; nothing new was posted)" if found.posted.again else ""
    return f"{amount} are in the citation pool, by {found.posted.id}{again}"


@app.command(epilog="Example: choir treasury pay 5")
def pay(
    amount: Annotated[str, typer.Argument(help="USDC of yours, such as 5.", metavar="AMOUNT")],
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Pay the treasury for good. Half of it raises what your citations may pay others this month."""
    from choir.doors.articles.author import as_author

    output.want_json(as_json)
    with output.reading_options():
        units = Asset.USDC.parse(amount)
    with as_author(node) as author:
        author.cover(units, Asset.USDC)
        found = author.client.treasury.pay(units, key=key)
    if as_json:
        output.print_json(found.model_dump(by_alias=True))
    else:
        output.print_line(f"{_usdc(units)} USDC are paid to the treasury, by {found.id}.")
        output.say("See your allowance: choir earnings")


@app.command(epilog="Example: choir treasury pool")
def pool(node: NodeOption = None, as_json: AsJson = False) -> None:
    """Show the citation pool: its balance, what is owed, and what was spent this month."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = client.treasury.pool()
    if as_json:
        output.print_json(found.model_dump())
        return
    output.print_line(f"balance  {_usdc(found.balance)} USDC")
    output.print_line(f"owed     {_usdc(found.owed)} USDC")
    output.print_line(f"spent    {_usdc(found.spent)} USDC in {found.month}")


def _usdc(units: int | str) -> str:
    return Asset.USDC.format(int(units))
