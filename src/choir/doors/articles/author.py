"""Who acts in the commons from the command line: whoever is logged in, else this machine's own agent.

The same agent that buys from this machine on a development node (`choir.doors.mesh.machine_buyer`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from choir.doors.cli import output
from choir.doors.jobs.commands.buyer import Buyer, as_buyer
from choir.foundation.errors import NotAllowed
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_SCOPES = ("research", "publish", "challenge")


class CannotWrite(NotAllowed):
    """Somebody is logged in, with a token that was not made for this."""

    code = "cli.cannot_write"
    sentence = "Your credential may not {scope}."
    hint = "Log in again: choir login --scope read --scope research --scope publish --scope challenge"


@contextmanager
def as_author(node: str | None) -> Iterator[Buyer]:
    """Ask as whoever writes here."""
    with as_buyer(node, quiet=True) as author:
        try:
            yield author
        except NotAllowed as error:
            scope = error.fields.get("scope")
            if error.code != "identity.scope_missing" or scope not in _SCOPES:
                raise
            if output.operator_wanted():
                raise output.AskAsPerson from None
            raise CannotWrite(scope=scope) from None


def chip(amount: int | str) -> str:
    """CHIP as people read them."""
    return Asset.CHIP.format(int(amount))


def cover_stake(author: Buyer, client: Client, *names: str) -> None:
    """On a development node, have this machine's agent hold what these policy values come to."""
    values = {item.name: item.value for item in client.policy().values}
    author.cover(sum(values[name] for name in names), Asset.CHIP)
