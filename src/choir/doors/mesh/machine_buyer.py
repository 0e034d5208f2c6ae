"""This machine's own buyer: who orders on a development node where nobody is logged in.

The operator of a node buys nothing. But whoever has just started a node has nobody else to be, and should see work done
at once. So on a development node whose operator's token is readable here, orders are made by an agent on a key of its
own, kept for that address in the home folder, and topped up with play money. The command line and `MeshClient` share
it.

Guarantees: never on a production node; the key is this user's alone.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from choir.foundation.errors import ChoirError, NotAllowed, NotFound, Unauthenticated
from choir.foundation.money import Asset
from choir.foundation.settings import Settings, load_settings

if TYPE_CHECKING:
    from pathlib import Path

    from choir.doors.sdk.auth import NostrKey
    from choir.doors.sdk.client import Client

_NAME = "buyer of this machine"
_TOP_UP = 100_000_000  # units at least, so that not every job is a gift of its own
_DEVELOPMENT = "dev"
_CONNECT_S = 2.0


class BuyerNeeded(NotAllowed):
    """The operator's token buys nothing, and play money is for development."""

    code = "sdk.buyer_needed"
    sentence = "A node's operator cannot buy, and nobody is logged in to {node}."
    hint = "Sign up on its page, then `choir login --scope read --scope buy`."


@dataclass(frozen=True, slots=True)
class MachineBuyer:
    """An agent that orders with play money, and the operator who gives it some."""

    client: Client  # asks as the agent
    agent: str
    owner: str
    operator: Client

    def cover(self, needed: int, asset: Asset = Asset.SAT) -> None:
        """See to it that so many units of an asset can be spent now."""
        account = f"{self.owner}/available/{asset.name}"
        try:
            there = int(self.operator.balance(account).balance)
        except NotFound:
            there = 0
        if there < needed:
            self.operator.fund(account, max(needed - there, _TOP_UP))


def at(operator: Client, settings: Settings | None = None) -> MachineBuyer:
    """The buyer of this machine at the node that its operator asks; made with the first order."""
    from choir.doors.sdk.client import Client

    settings = settings or load_settings()
    found = operator.node()
    if found.mode != _DEVELOPMENT:
        raise BuyerNeeded(node=operator.url)
    key = _key(settings, operator.url, _secret(settings, operator.url))
    client = Client(operator.url, auth=key, connect_s=_CONNECT_S)
    try:
        agent = client.agents.stand(_NAME)
    except BaseException:
        client.close()
        raise
    return MachineBuyer(client, agent.id, agent.owner, operator)


def known_at(address: str) -> str | None:
    """The agent that orders from this machine at a development node where nobody is logged in; None before it did."""
    with _kept_client(load_settings(), address) as client:
        try:
            return None if client is None else client.me.who().agent
        except Unauthenticated:  # the node has never seen it
            return None


def ordered_at(address: str) -> str | None:
    """The same, if there is anything that it ordered; None also where that cannot be found out."""
    try:
        with _kept_client(load_settings(), address) as client:
            if client is None or next(iter(client.jobs.mine(limit=1)), None) is None:
                return None
            return client.me.who().agent
    except ChoirError:
        return None


def keys_folder(settings: Settings) -> Path:
    """Where this machine's buyers keep their keys: with the operator's token, without which they are not used."""
    return settings.home / "buyers"


@contextmanager
def _kept_client(settings: Settings, address: str) -> Iterator[Client | None]:
    """A client for the key that this machine has for a node; None if it has none."""
    from choir.doors.sdk.client import Client

    kept = _kept(settings, address)
    if kept is None:
        yield None
        return
    with Client(address, auth=_key(settings, address, kept), connect_s=_CONNECT_S) as client:
        yield client


def _key(settings: Settings, address: str, secret: str) -> NostrKey:
    from choir.doors.sdk.auth import NostrKey

    return NostrKey(secret, public_url=_known_as(settings, address))


def _known_as(settings: Settings, address: str) -> str:
    """The address that the node knows itself by, which is what gets signed."""
    if settings.chose("public_url"):
        return settings.public_url
    port = urlsplit(address).port
    return f"http://localhost:{port}" if port else "http://localhost"


def _path(settings: Settings, address: str) -> Path:
    from choir.doors.logins import saved_logins

    return keys_folder(settings) / f"{quote(saved_logins.origin_of(address), safe='')}.json"


def _secret(settings: Settings, address: str) -> str:
    """This machine's key for a node, made once."""
    from choir.doors.logins import saved_logins

    kept = _kept(settings, address)
    if kept is None:
        value = {"node": saved_logins.origin_of(address), "secret": secrets.token_hex(32)}
        saved_logins.write_private(_path(settings, address), json.dumps(value))
        kept = _kept(settings, address)  # another command may have been first; whoever was last stays
        assert kept is not None
    return kept


def _kept(settings: Settings, address: str) -> str | None:
    from choir.doors.logins import saved_logins

    path = _path(settings, address)
    kept = saved_logins.read_private(path)
    if kept is None:
        return None
    try:
        return str(json.loads(kept)["secret"])
    except (ValueError, KeyError, TypeError):
        raise saved_logins.UnsafeLogin(path=str(path), why="it is not a buyer's key file of this version") from None
