"""`choir provider ls|show|status|earnings|retire`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.bazaar.jobs.reasons import in_words
from choir.doors.cli import ids, output
from choir.doors.cli.live_output import plain
from choir.doors.cli.output import AsJson, NodeOption
from choir.doors.providers.commands.own_provider import ProviderCall, own_provider, percent, sat
from choir.foundation.errors import ChoirError, Invalid
from choir.foundation.words import count

if TYPE_CHECKING:
    from choir.doors.providers.shapes import BookOut, OutcomeOut, ProviderOut
    from choir.doors.sdk.client import Client

_PERIODS = ("day", "week", "month", "all")


def register(app: typer.Typer) -> None:
    app.command("ls", epilog="Example: choir provider ls")(ls)
    app.command("show", epilog="Example: choir provider show provider_01h…")(show)
    app.command("status", epilog="Example: choir provider status --json")(status)
    app.command("earnings", epilog="Example: choir provider earnings --period week")(earnings)
    app.command("retire", epilog="Example: choir provider retire --name 'night shift'")(retire)


def ls(node: NodeOption = None, as_json: AsJson = False) -> None:
    """List the node's providers: their claims, and the node's records of them."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        found = list(client.providers.all())
    if as_json:
        output.print_json([item.model_dump(mode="json") for item in found])
        return
    rows = [
        (item.id, plain(_claimed(item, "name")), _state(item), _sold(item), str(item.tier), percent(item.success_bps))
        for item in found
    ]
    output.print_table(["provider", "name (claimed)", "state", "sells", "tier", "success"], rows, whole=(0, 2, 4))


def show(
    provider: Annotated[str, typer.Argument(help="Such as provider_01h…, or its beginning.", metavar="PROVIDER")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show a provider and its last outcomes."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        provider = ids.whole(client, "provider", provider)
        found = client.providers.get(provider)
        last = _first(client.providers.outcomes(provider, limit=10), 10)
    if as_json:
        output.print_json(found.model_dump(mode="json") | {"outcomes": [item.model_dump(mode="json") for item in last]})
        return
    _print(found)
    _print_outcomes(last)


@own_provider
def status(asking: ProviderCall) -> None:
    """Show your own provider as the node sees it: standing, offers, running attempts, balance."""
    with asking.client() as client:
        found = client.providers.me()
        live = list(client.attempts.mine(live=True))
        last = _first(client.providers.outcomes(found.id, limit=5), 5)
        balance = _balance(client, found.owner)
    if asking.as_json:
        value = {
            "provider": found.model_dump(mode="json"),
            "attempts": [item.model_dump(mode="json") for item in live],
            "outcomes": [item.model_dump(mode="json") for item in last],
            "balance": balance,
        }
        output.print_json(value)
        return
    _print(found)
    if balance is not None:
        output.print_line(f"  balance     {sat(balance)} SAT")
    for item in live:
        output.print_line(f"  running     {item.job}  {item.state}  until {item.deadline_at}")
    _print_outcomes(last)


@own_provider
def earnings(
    period: Annotated[
        str, typer.Option(help="day, week (from Monday), month or all; in UTC.", metavar="PERIOD")
    ] = "week",
    *,
    asking: ProviderCall,
) -> None:
    """Show earnings, from the ledger's entries."""
    with output.reading_options():
        if period not in _PERIODS:
            raise Invalid(what=f"The period '{period[:20]}'", why=f"there are {', '.join(_PERIODS)}")
    with asking.client() as client:
        found = client.providers.earnings(period)  # type: ignore[arg-type]  # looked at above
    if asking.as_json:
        output.print_json(found.model_dump(mode="json"))
        return
    since = f" since {found.since}" if found.since else ""
    earned = f"{sat(found.earned)} SAT earned with {count(found.jobs, 'job', 'jobs')}{since}"
    output.print_line(f"{earned}, {sat(found.fees)} SAT went to the platform.")
    if found.lines:
        from choir.doors.provider.model import short_type

        rows = [
            (short_type(item.type), str(item.jobs), str(item.passed), sat(item.earned), sat(item.fees))
            for item in found.lines
        ]
        output.print_table(["type", "jobs", "passed", "earned SAT", "fees SAT"], rows, right=(1, 2, 3, 4))


@own_provider
def retire(asking: ProviderCall) -> None:
    """Retire your provider. Serving it again restores it with its record."""
    with asking.client() as client:
        found = client.providers.me()
        client.providers.retire()
    if asking.as_json:
        output.print_json({"provider": found.id, "retired": True})
    else:
        output.print_line(f"{found.id} is retired.")


# Words


def _first(rows: Any, most: int) -> list[Any]:
    """The first rows of a listing, without asking for further pages."""
    found = []
    for row in rows:
        found.append(row)
        if len(found) >= most:
            break
    return found


def _balance(client: Client, owner: str) -> str | None:
    """What the owner has; nothing if it is not theirs to say."""
    try:
        names = {item.name: item.balance for item in client.me.accounts()}
    except ChoirError:
        return None
    return names.get(f"{owner}/available/SAT", "0")


def _claimed(item: ProviderOut, what: str) -> str:
    return str(getattr(item.claimed, what)) if item.claimed is not None else ""


def _state(item: ProviderOut) -> str:
    if item.retired_at:
        return "retired"
    if not item.online:
        return "offline"
    if item.draining:
        return "draining"
    return "online" if item.healthy else "unhealthy"


def _sold(item: ProviderOut) -> str:
    from choir.doors.provider.model import short_type

    return ", ".join(short_type(offer.type) for offer in item.offers if offer.offered)


def _print(item: ProviderOut) -> None:
    _line(f"{item.id}  {_state(item)}")
    _line(f"  owner       {item.owner}")
    if item.claimed is not None:
        model = f", model {item.claimed.model}" if item.claimed.model else ""
        said = f"{item.claimed.name}, {item.claimed.region}, {item.claimed.isolation}{model}"
        _line(f"  claims      {said}")
    _line(f"  slots       {item.in_use} of {item.slots} in use ({item.capacity} declared)")
    success = f"success {percent(item.success_bps)}, reputation {percent(item.reputation_bps)}"
    _line(f"  standing    tier {item.tier}, {success}")
    buyers = count(item.buyers, "independent buyer")
    _line(f"  record      {item.passed} of {count(item.jobs, 'job')} passed, {buyers}")
    _line(f"  volume      {_volume(item)}")
    for offer in item.offers:
        if offer.offered:
            again = f", retry from {offer.retry_at}" if offer.retry_at else ""
            price = f", {_price(offer.book)}" if offer.book is not None else ""
            _line(f"  sells       {offer.type.word}: qualification {offer.qualification}{again}{price}")


def _volume(item: ProviderOut) -> str:
    """What it was paid, and how much of that by others."""
    raw, organic = int(item.raw_volume), int(item.organic_volume)
    rest = f"; {sat(raw - organic)} SAT from related buyers or refunded" if raw > organic else ""
    return f"{sat(raw)} SAT raw, {sat(organic)} SAT organic{rest}"


def _price(book: BookOut) -> str:
    return f"{sat(book.base)} + {sat(book.per_unit)} per {book.unit.replace('_', ' ')}, at most {sat(book.cap)} SAT"


def _print_outcomes(found: list[OutcomeOut]) -> None:
    for item in found:
        came = "passed" if item.passed else f"failed: {in_words(item.reason)}"
        _line(f"  {item.at}  {item.job or 'a job'}  {item.type.word}  {came}  {sat(item.price)} SAT")


def _line(text: str) -> None:
    """A line that may hold what a stranger wrote."""
    output.print_line(plain(text))
