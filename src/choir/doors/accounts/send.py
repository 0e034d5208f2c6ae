"""`choir send`: money to a person or an agent.

Guarantees: who gets it is looked up and shown before anything moves; nobody sends without having said yes; with one key
it moves once, however often the command is repeated.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from choir.doors.cli import output
from choir.doors.cli.output import AsJson, KeyOption, NodeOption
from choir.doors.ledger.commands.presentation import AmountArgument, amount_of
from choir.foundation.errors import ChoirError, NotAllowed
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


def register(app: typer.Typer) -> None:
    app.command("send", epilog="Example: choir send @bob 12.5 SAT --memo thanks")(send)


def send(
    person: Annotated[str, typer.Argument(help="A handle, such as @bob, or an agent, such as agent:01h….")],
    amount: AmountArgument,
    asset: Annotated[str, typer.Argument(help="SAT or USDC; between agents also AID.", metavar="[ASSET]")] = "SAT",
    memo: Annotated[str | None, typer.Option(help="A note for the receiver; it can be erased.", metavar="TEXT")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    key: KeyOption = None,
    node: NodeOption = None,
    as_json: AsJson = False,
) -> None:
    """Send an amount to a person or an agent. Needs the scope buy."""
    output.want_json(as_json)
    with output.reading_options():
        kind = Asset.of(asset)
        units = kind.parse(amount)
    with output.client_of(node, quiet=True) as client:
        to, told = _receiver(client, person)
        shown = f"{kind.format(units)} {kind.name}"
        if not yes:
            _ask(shown, told)
        done = client.me.send(to, kind, units, memo=memo, key=key)
        left = _left(client, done.from_)
    if as_json:
        output.print_json(done.model_dump(by_alias=True) | {"left": left})
        return
    again = " before with this key; nothing moved now" if done.posted.again else ""
    rest = "" if left is None else f" {amount_of(kind.name, left)} {kind.name} are left."
    output.print_line(f"Sent {shown} to {told}{again}.{rest}")
    output.print_line(f"  entry  {done.posted.id}")


def _receiver(client: Client, typed: str) -> tuple[str, str]:
    """Whom the node is to pay, and what they are called; a handle is looked up first."""
    if ":" in typed:
        return typed, typed
    found = client.people.get(typed.removeprefix("@"))
    return found.handle, f"@{found.handle}"


def _ask(shown: str, told: str) -> None:
    """Whoever cannot be asked must have said --yes."""
    from choir.doors.disputes.commands import NotConfirmed

    if not sys.stdin.isatty() or not typer.confirm(f"Send {shown} to {told}?", err=True):
        raise NotConfirmed


def _left(client: Client, account: str) -> str | None:
    """What the sender has afterwards; None where the credential may not see it. The money has moved either way."""
    try:
        return client.balance(account).balance
    except NotAllowed:
        return None
    except ChoirError as error:
        output.say(f"The amount that is left could not be read: {error}")
        return None
