"""Who buys: whoever is logged in, else this machine's own buyer on a development node.

`choir.doors.mesh.machine_buyer` has that buyer. Whoever is logged in buys as themselves, and `choir --machine` asks as
the machine's buyer all the same.

Guarantees: who pays, and that it is play money, is said; nobody has to guess where earlier orders are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from choir.bazaar.jobs.model import UnknownJob
from choir.doors.cli import output
from choir.doors.logins.commands import NotLoggedIn
from choir.foundation.errors import NotAllowed
from choir.foundation.money import Asset
from choir.foundation.settings import Settings, load_settings

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client
    from choir.doors.sdk.target import ChosenCredential

_CONNECT_S = 2.0


class CannotBuy(NotAllowed):
    """Somebody is logged in, with a token that was not made for spending."""

    code = "cli.cannot_buy"
    sentence = "Your credential may not buy."
    hint = "Log in again with `choir login --scope read --scope buy`, or use a token with both scopes."


@dataclass(frozen=True, slots=True)
class Buyer:
    """A client that may buy, and a way to see to it that there is money."""

    client: Client
    cover: Callable[..., None]  # so much will be needed now; of which asset, if not SAT
    is_machine: bool = False


def _nothing(_: int, __: Asset = Asset.SAT) -> None:
    """People see to their own money."""


@contextmanager
def as_buyer(node: str | None, *, quiet: bool = False) -> Iterator[Buyer]:
    """Ask as whoever buys here. `quiet` says nothing about who that is."""
    from choir.doors.sdk import target

    settings = load_settings()
    address = target.address_of(settings, node)
    chosen = target.choose(settings, address)
    if chosen.source == "none":
        _must_answer(address)
        raise NotLoggedIn(node=address, why=chosen.why)
    if output.machine_wanted():
        chosen = target.choose_operator(settings, address, asked="--machine")
    if chosen.source == "operator" and not output.operator_wanted():
        with _machine(settings, address, chosen, quiet=quiet) as buyer:
            yield buyer
        return
    with output.client_of(node, quiet=True) as client:
        try:
            yield Buyer(client, _nothing)
        except NotAllowed as error:
            if error.code == "identity.scope_missing" and error.fields.get("scope") == "buy":
                raise CannotBuy from None
            raise
        except UnknownJob:
            tell_of_the_machine(address)
            raise


def _must_answer(address: str) -> None:
    """Whoever forgot to start the node is told so, not to log in."""
    import httpx

    from choir.doors.sdk.errors import NoNode

    try:
        httpx.get(f"{address}/healthz", timeout=_CONNECT_S, trust_env=False)
    except httpx.TransportError:
        raise NoNode(url=address) from None


@contextmanager
def _machine(settings: Settings, address: str, chosen: ChosenCredential, *, quiet: bool) -> Iterator[Buyer]:
    from choir.doors.mesh import machine_buyer
    from choir.doors.sdk.client import Client

    with Client(address, chosen.token, connect_s=_CONNECT_S) as operator:
        machine = machine_buyer.at(operator, settings)
        with machine.client as client:
            if not quiet:
                output.say(f"{machine.agent}, this machine's own buyer, pays with play money of this development node.")
            yield Buyer(client, machine.cover, is_machine=True)


def tell_of_the_machine(address: str) -> None:
    """Whoever is logged in sees their own jobs; say where those are that were ordered here before."""
    from choir.doors.mesh import machine_buyer

    agent = machine_buyer.ordered_at(address)
    if agent is not None:
        output.say(f"Jobs of {agent}, this machine's own buyer: choir --machine job ls")


def sat(amount: int | str) -> str:
    """Satoshi as people read them."""
    return Asset.SAT.format(int(amount))
