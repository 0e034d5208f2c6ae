"""What the commands about agents, delegations and tokens share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choir.doors.cli import output
from choir.doors.tokens.scopes import SCOPES
from choir.foundation.errors import NotAllowed

if TYPE_CHECKING:
    from choir.doors.delegations.shapes import DelegationOut
    from choir.doors.sdk.client import Client
    from choir.doors.tokens.shapes import TokenOut


AgentArgument = Annotated[str, typer.Argument(help="Such as agent_01h….", metavar="AGENT")]


ScopeOption = Annotated[
    list[str],
    typer.Option("--scope", help=f"Allowed use: {SCOPES}; may be repeated.", metavar="SCOPE"),
]


DaysOption = Annotated[int, typer.Option("--days", help="Lifetime in days.", min=1)]


AllOption = Annotated[bool, typer.Option("--all", help="Include ended ones.")]


NameOption = Annotated[str | None, typer.Option("--name", help="Name.")]


class PasskeyNeeded(NotAllowed):
    """Something that only a person can do, who shows a passkey in the browser."""

    code = "cli.passkey_needed"
    sentence = "This needs your passkey, which only a browser can use."
    hint = "Do it at {page}."


@contextmanager
def asking(node: str | None, page: str) -> Iterator[Client]:
    """A client for an act that may take a passkey; then it says where that is done."""
    from choir.doors.logins import saved_logins
    from choir.identity.model import FreshAssertionNeeded, PersonNeeded

    with output.client_of(node) as client:
        try:
            yield client
        except (PersonNeeded, FreshAssertionNeeded) as error:
            if client.who.source == "operator":
                raise
            saved = saved_logins.load(client.url)
            pages = saved.pages if saved is not None and saved.pages else client.url
            raise PasskeyNeeded(page=f"{pages}/{page}") from error


def end_of(item: DelegationOut | TokenOut) -> str:
    return f"revoked {item.revoked_at}" if item.revoked_at else item.expires_at


def tell(as_json: bool, value: Any, text: str) -> None:
    if as_json:
        output.print_json(value if isinstance(value, dict) else value.model_dump())
    else:
        output.print_line(text)
