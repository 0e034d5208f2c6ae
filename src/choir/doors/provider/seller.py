"""Who sells: the owner of a token or a login that may, or else an agent that stands on a key of its own.

In this order: a key file that was named; the token that is set (and then it must be able to sell); the agent of the
provider's folder, once it has one; a saved login with the scope to sell; a new agent on a new key. The operator's token
is never used: a provider belongs to a person or an agent.

Guarantees: signed requests name the address that the owner meant, never one that the node claims to have, so that no
node can use them at another. Only for this machine's own node is that address taken from its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from choir.doors.people.shapes import MeOut
from choir.doors.provider.clocks import NodeClock
from choir.doors.provider.home import ProviderHome, read_key
from choir.doors.provider.model import AddressNotSigned, CannotSell
from choir.doors.sdk.auth import NostrKey
from choir.doors.sdk.client import Client
from choir.doors.sdk.target import address_of, choose
from choir.foundation.errors import Unauthenticated
from choir.foundation.settings import Settings, load_settings
from choir.identity.credentials.model import BadCredential
from choir.identity.keys.secret_values import SecretKey
from choir.identity.model import Scope
from choir.operations.home import running_node

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TIMEOUT_S = 60.0
_PATIENCE_S = 5.0  # the serving loop is patient itself, and wants to notice when it is to stop
_CONNECT_S = 1.0


@dataclass(frozen=True, slots=True)
class Seller:
    """Who sells at which node, and how to ask it in their name."""

    url: str
    owner: str
    shown: str  # for people: "the agent agent_01…, which stands on the key in …"
    client: Callable[[], Client]  # another one, for another thread's stream
    clock: NodeClock
    home: ProviderHome
    remark: str = ""  # why it is not somebody else, where one would wonder


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a key is used with."""

    home: ProviderHome
    clock: NodeClock
    signed_url: str
    name: str | None
    make: bool


def find(
    home: ProviderHome,
    node: str | None = None,
    key_file: Path | None = None,
    public_url: str | None = None,
    *,
    name: str | None = None,
    make: bool = True,
    clock: NodeClock | None = None,
) -> Seller | None:
    """The seller, made if there is none; with `make` off, nothing is made and there may be none."""
    settings = load_settings()
    url = address_of(settings, node)
    clock = clock or NodeClock()
    clock.note_ahead(_ahead_s(url))
    asked = _Asked(home, clock, _signed_url(settings, url, public_url), name, make)
    if key_file is not None:
        return _by_key(url, read_key(key_file), key_file, asked)
    by_token, remark = _by_token(settings, url, clock, home)
    if by_token is not None:
        return by_token
    if not home.has_agent and not make:
        return None
    own = _by_key(url, home.agent_key(), home.agent_key_file, asked)
    return None if own is None else replace(own, remark=remark)


def _ahead_s(url: str) -> float:
    """How far the node's clock is ahead, before anything is signed by ours."""
    with Client(url, "", timeout_s=_TIMEOUT_S, patience_s=_PATIENCE_S, connect_s=_CONNECT_S) as stranger:
        with suppress(Unauthenticated):
            stranger.me.who()
        return stranger.ahead_s


def _by_token(settings: Settings, url: str, clock: NodeClock, home: ProviderHome) -> tuple[Seller | None, str]:
    """The owner of the token that is set, or of a saved login that may sell; or why it is not the login's."""
    chosen = choose(settings, url)
    if chosen.source not in ("setting", "login"):
        return None, ""
    if chosen.source == "login" and home.has_agent:
        return None, f"Selling as this folder's own agent, not as you, although {chosen.why}."

    def client() -> Client:
        return Client(url, chosen.token, timeout_s=_TIMEOUT_S, patience_s=_PATIENCE_S, connect_s=_CONNECT_S)

    try:
        with client() as asking:
            who = asking.me.who()
    except Unauthenticated:
        why = "the node does not know it"
    else:
        if Scope.SELL in who.scopes and who.role != "operator":
            return Seller(url, who.owner, f"{_called(who)}, because {chosen.why}", client, clock, home), ""
        why = "it is the operator's" if who.role == "operator" else "it lacks the scope 'sell'"
    if chosen.source == "setting":
        raise CannotSell(why=why)
    return None, f"Not selling as you, although {chosen.why}: that login cannot sell, {why}."


def _called(who: MeOut) -> str:
    person = f"@{who.handle}" if who.handle else who.person or who.owner
    return f"{who.agent} for {person}" if who.agent and who.person else who.agent or person


def _by_key(url: str, key: SecretKey, file: Path, asked: _Asked) -> Seller | None:
    secret = key.reveal().hex()

    def client() -> Client:
        auth = NostrKey(secret, public_url=asked.signed_url)
        return Client(url, auth=auth, timeout_s=_TIMEOUT_S, patience_s=_PATIENCE_S, connect_s=_CONNECT_S)

    try:
        with client() as asking:
            who = _standing(asking, asked)
    except BadCredential as error:
        why = str(error.fields.get("why", "no reason given"))
        if why.startswith("nobody") and not asked.make:
            return None
        raise AddressNotSigned(address=asked.signed_url, why=why) from None
    if Scope.SELL not in who.scopes:
        raise CannotSell(why="the node does not allow this key to sell")
    shown = f"{_called(who)}, with the key in {file}"
    return Seller(url, who.owner, shown, client, asked.clock, asked.home)


def _standing(client: Client, asked: _Asked) -> MeOut:
    """Whoever has this key; if nobody has, an agent stands up on it."""
    try:
        return client.me.who()
    except BadCredential:
        if not asked.make:
            raise
    client.agents.stand(asked.name)
    return client.me.who()


def _signed_url(settings: Settings, url: str, named: str | None) -> str:
    """The address that signed requests are for."""
    if named:
        return named.rstrip("/")
    running = running_node(settings.home) if settings.home.exists() else None
    if running is not None and running.url == url:
        return settings.public_url
    parsed = httpx.URL(url)
    if parsed.host in _LOOPBACK:  # what a node on this machine calls itself unless it was told otherwise
        port = f":{parsed.port}" if parsed.port else ""
        return f"{parsed.scheme}://localhost{port}"
    return url
