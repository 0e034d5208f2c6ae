"""Who buys: whoever is logged in, else this machine's own buyer on a development node.

The operator of a node buys nothing. But whoever has just started a node with `make run` has nobody else to be, and
should see work done at once. So on a development node whose operator's token is readable here, the command line buys
as an agent on a key of its own, kept for that address in the home folder, and tops it up with play money.

Guarantees: never on a production node; the key is this user's alone; who pays, and that it is play money, is said.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from choir.doors.cli import output
from choir.doors.cli.login import NotLoggedIn
from choir.foundation.errors import NotAllowed, NotFound, Unauthenticated
from choir.foundation.money import Asset
from choir.foundation.settings import Settings, load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from choir.doors.sdk.auth import NostrKey
    from choir.doors.sdk.choosing import Chosen
    from choir.doors.sdk.client import Client

_NAME = "buyer of this machine"
_TOP_UP = 100_000_000  # milli-satoshi at least, so that not every job is a gift of its own
_DEVELOPMENT = "dev"
_CONNECT_S = 2.0


class CannotBuy(NotAllowed):
    """Somebody is logged in, with a token that was not made for spending."""

    code = "cli.cannot_buy"
    sentence = "The credential that you ask with may not buy."
    hint = "Log in once more with `choir login --scope read --scope buy`, or use a token with both scopes."


class BuyerNeeded(NotAllowed):
    """The operator's token buys nothing, and play money is for development."""

    code = "cli.buyer_needed"
    sentence = "The operator of a node buys nothing, and nobody is logged in to {node}."
    hint = "Sign up on its page, then `choir login --scope read --scope buy`."


@dataclass(frozen=True, slots=True)
class Buyer:
    """A client that may buy, and a way to see to it that there is money."""

    client: Client
    cover: Callable[[int], None]  # so much will be needed now


def _nothing(_: int) -> None:
    """People see to their own money."""


@contextmanager
def as_buyer(node: str | None, *, quiet: bool = False) -> Iterator[Buyer]:
    """Ask as whoever buys here. `quiet` says nothing about who that is."""
    from choir.doors.sdk import choosing

    settings = load_settings()
    address = choosing.address_of(settings, node)
    chosen = choosing.choose(settings, address)
    if chosen.source == "none":
        _must_answer(address)
        raise NotLoggedIn(node=address, why=chosen.why)
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


def _must_answer(address: str) -> None:
    """Whoever forgot to start the node is told so, not to log in."""
    import httpx

    from choir.doors.sdk.errors import NoNode

    try:
        httpx.get(f"{address}/healthz", timeout=_CONNECT_S, trust_env=False)
    except httpx.TransportError:
        raise NoNode(url=address) from None


@contextmanager
def _machine(settings: Settings, address: str, chosen: Chosen, *, quiet: bool) -> Iterator[Buyer]:
    from choir.doors.sdk.client import Client

    with Client(address, chosen.token, connect_s=_CONNECT_S) as operator:
        found = operator.node()
        if found.mode != _DEVELOPMENT:
            raise BuyerNeeded(node=address)
        key = _key(settings, address, _secret(settings, address))
        with Client(address, auth=key, connect_s=_CONNECT_S) as client:
            agent = client.agents.stand(_NAME)
            if not quiet:
                output.say(f"{agent.id}, this machine's own buyer, pays with play money of this development node.")
            yield Buyer(client, lambda amount: _top_up(operator, f"{agent.owner}/available/SAT", amount))


def machines_buyer(address: str) -> str | None:
    """The agent that orders from this machine at a development node where nobody is logged in; None before it did."""
    from choir.doors.sdk.client import Client

    settings = load_settings()
    kept = _kept(settings, address)
    if kept is None:
        return None
    with Client(address, auth=_key(settings, address, kept), connect_s=_CONNECT_S) as client:
        try:
            return client.me.who().agent
        except Unauthenticated:  # the node has never seen it
            return None


def _key(settings: Settings, address: str, secret: str) -> NostrKey:
    from choir.doors.sdk.auth import NostrKey

    return NostrKey(secret, public_url=_known_as(settings, address))


def _top_up(operator: Client, account: str, needed: int) -> None:
    try:
        there = int(operator.balance(account).balance)
    except NotFound:
        there = 0
    if there < needed:
        operator.fund(account, max(needed - there, _TOP_UP))


def _known_as(settings: Settings, address: str) -> str:
    """The address that the node knows itself by, which is what gets signed."""
    if settings.chose("public_url"):
        return settings.public_url
    port = urlsplit(address).port
    return f"http://localhost:{port}" if port else "http://localhost"


def keys_folder(settings: Settings) -> Path:
    """Where this machine's buyers keep their keys: with the operator's token, without which they are not used."""
    return settings.home / "buyers"


def _path(settings: Settings, address: str) -> Path:
    from choir.doors.sdk import saved_logins

    return keys_folder(settings) / f"{quote(saved_logins.origin_of(address), safe='')}.json"


def _secret(settings: Settings, address: str) -> str:
    """This machine's key for a node, made once."""
    from choir.doors.sdk import saved_logins

    kept = _kept(settings, address)
    if kept is None:
        value = {"node": saved_logins.origin_of(address), "secret": secrets.token_hex(32)}
        saved_logins.write_private(_path(settings, address), json.dumps(value))
        kept = _kept(settings, address)  # another command may have been first; whoever was last stays
        assert kept is not None
    return kept


def _kept(settings: Settings, address: str) -> str | None:
    from choir.doors.sdk import saved_logins

    path = _path(settings, address)
    kept = saved_logins.read_private(path)
    if kept is None:
        return None
    try:
        return str(json.loads(kept)["secret"])
    except (ValueError, KeyError, TypeError):
        raise saved_logins.UnsafeLogin(path=str(path), why="it is not a buyer's key of this version") from None


def sat(amount: int | str) -> str:
    """Satoshi as people read them."""
    return Asset.SAT.format(int(amount))
