"""`choir ledger transfer|post|entries|show`, `choir fund` and `choir explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.ledger.commands.posting_file import check_legs, read_json, shaped
from choir.doors.ledger.commands.presentation import (
    AccountArgument,
    AmountArgument,
    ReasonOption,
    account_typed,
    amount_of,
    hold_typed,
    show_account,
    show_posted,
    units_of,
)
from choir.foundation.errors import Invalid, NotFound
from choir.foundation.policy import PAGE_ROWS_MOST
from choir.ledger.model import HOLD_ACCOUNTS

if TYPE_CHECKING:
    from choir.doors.ledger.shapes import BatchOut
    from choir.doors.sdk.client import Client


class NoSuchNumber(NotFound):
    """An entry was asked for by a number that the journal has not reached."""

    code = "cli.no_such_number"
    sentence = "There is no entry number {number}."
    hint = "List entries with `choir ledger entries`."


class NotAnEntry(Invalid):
    """Something else was named, which another command knows about."""

    code = "cli.not_an_entry"
    sentence = "{id} is {what}, not a ledger entry."
    hint = "Try: {command}"


# What is named like this, and which command tells about it.
_OTHERS = {
    "job_": ("a job", "choir job explain {id}"),
    "attempt_": ("an attempt at a job", "choir job show JOB"),
    "dispute_": ("a dispute", "choir job dispute show {id}"),
    "provider_": ("a provider", "choir provider show {id}"),
    "issuance_": ("an issuance", "choir ledger issue show {id}"),
    "hold_": ("a hold", "choir ledger show {id}"),
    "delegation_": ("a delegation", "choir delegation show {id}"),
    "agent_": ("an agent", "choir agent ls"),
    "token_": ("a token", "choir token ls"),
}


def register(app: typer.Typer) -> None:
    app.command(
        "transfer",
        epilog="Example: choir ledger transfer person:ada/available/SAT person:bob/available/SAT 12.50 --reason rent",
    )(transfer)
    app.command("post", epilog="Example: echo '{\"entries\": […]}' | choir ledger post -")(post)
    app.command("entries", epilog="Example: choir ledger entries --limit 20 --cursor 100")(entries)
    app.command("show", epilog="Example: choir ledger show hold_01h…")(show)


def register_at_the_top(app: typer.Typer) -> None:
    """The commands that stand beside `choir ledger`."""
    app.command("fund", epilog="Example: choir fund person:ada/available/SAT 100")(fund)
    app.command("explain", epilog="Example: choir explain entry_01h…")(explain)


def transfer(
    payer: Annotated[str, typer.Argument(help="The paying account.", metavar="FROM")],
    payee: Annotated[str, typer.Argument(help="The receiving account.", metavar="TO")],
    amount: AmountArgument,
    reason: ReasonOption = "transfer",
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Move an amount from one account to another."""
    output.want_json(as_json)
    units = units_of(payer, amount)
    account_typed(payee)
    with output.client_of(node) as client:
        posted = client.transfer(payer, payee, units, reason=reason, key=key)
    show_posted(posted, as_json=as_json)


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
    from choir.doors.ledger.shapes import BatchIn, EntryIn

    output.want_json(as_json)
    value = read_json(file)
    if "entries" in value:
        if key is not None:
            raise typer.BadParameter("--key is for a single entry; each entry of a batch has its own key")
        batch = shaped(BatchIn, value, file)
        for number, item in enumerate(batch.entries):
            check_legs(item, file, f"entries.{number}.")
        with output.client_of(node) as client:
            done = client.post_batch(item.model_dump(by_alias=True) for item in batch.entries)
        _show_batch(done, as_json=as_json)
        return
    entry = shaped(EntryIn, value, file)
    check_legs(entry, file)
    with output.client_of(node) as client:
        posted = client.post_entry(entry, key=key)
    show_posted(posted, as_json=as_json)


def entries(
    limit: Annotated[int, typer.Option(help="Maximum number of entries.", min=1, max=PAGE_ROWS_MOST)] = 100,
    cursor: Annotated[str | None, typer.Option(help="Continue after this entry's number.")] = None,
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
    output.say_there_is_more(page.next)


def show(
    subject: Annotated[str, typer.Argument(help="An entry (its id or number) or a hold.", metavar="ENTRY|HOLD")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show an entry, or a hold and what remains in it."""
    output.want_json(as_json)
    held = hold_typed(subject) if subject.startswith(("hold_", HOLD_ACCOUNTS)) else None
    with output.client_of(node) as client:
        hold = client.get_hold(held) if held is not None else None
        entry = client.entry(entry_named(client, subject)) if hold is None else None
    if hold is None or as_json:
        output.print_json((hold or entry).model_dump())  # type: ignore[union-attr]
        return
    state = "closed" if hold.closed else f"open until {hold.expires_at}"
    remaining = amount_of(hold.asset, hold.remaining)
    output.print_line(f"{hold.id}  {remaining} {hold.asset} remain of {hold.payer}'s, {state}")
    output.print_line(f"  captures  {hold.captures} of {hold.captures_max}")


def fund(
    account: AccountArgument,
    amount: AmountArgument,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Fund an account with play money (development nodes only)."""
    output.want_json(as_json)
    units = units_of(account, amount)
    with output.client_of(node) as client:
        posted = client.fund(account, units, key=key)
        found = client.balance(account)
    if as_json:
        output.print_json(posted.model_dump())
    else:
        show_account(found, as_json=False)


def explain(
    entry: Annotated[str, typer.Argument(help="Its id, such as entry_01h…, or its number.", metavar="ENTRY")],
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Explain an entry: what it did, by which rules, and its proof."""
    output.want_json(as_json)
    with output.client_of(node) as client:
        told = client.explain(entry_named(client, entry))
    if as_json:
        output.print_json(told.model_dump())
    else:
        output.print_line("\n".join(told.sentences))


def entry_named(client: Client, text: str) -> str:
    """The id of an entry that was called by its number, as listings show it; what is something else is refused."""
    _must_be_entry(text)
    number = text.strip()
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        return text
    if int(number) > 0:
        page = client.entries(cursor=str(int(number) - 1), limit=1)
        if page.items and page.items[0].seq == int(number):
            return page.items[0].id
    raise NoSuchNumber(number=int(number))


def _must_be_entry(text: str) -> None:
    """Whoever names something else is told which command knows about it."""
    found = next((told for prefix, told in _OTHERS.items() if text.startswith(prefix)), None)
    if found is None and "/" in text:
        found = ("an account", "choir ledger statement {id}")
    if found is not None:
        what, command = found
        raise NotAnEntry(id=text[:80], what=what, command=command.replace("{id}", text[:80]))


def _show_batch(batch: BatchOut, *, as_json: bool) -> None:
    refused = sum(1 for item in batch.results if item.problem is not None)
    if as_json:
        output.print_json(batch.model_dump())
    else:
        for item in batch.results:
            if item.posted is not None:
                show_posted(item.posted, as_json=False)
            elif item.problem is not None:
                output.print_line(f"refused: {item.problem.detail}")
    if refused:
        raise typer.Exit(output.EXIT_REFUSED)
