"""Which node is meant, and who asks it.

Guarantees: a token from the settings wins, then a login that was saved for exactly this address, then the
operator's token, which only the node that runs on this home ever gets to see. Nothing is sent to an
address that it was not meant for, and the choice can be explained.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import httpx

from choir.doors.logins import saved_logins
from choir.foundation.errors import ChoirError, Invalid
from choir.foundation.settings import Settings
from choir.operations.home import operator_token, running_node

_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class ChosenCredential:
    """The credential for a node, and why it is this one."""

    token: str = field(repr=False)
    source: Literal["given", "setting", "login", "operator", "none"]
    why: str


def address_of(settings: Settings, url: str | None) -> str:
    """Where the node is: as asked for, else where this home's node runs, else where it would."""
    if url is None and not settings.chose("node"):
        running = running_node(settings.home) if settings.home.exists() else None
        if running is not None and running.pid:
            return running.url
    return (url or settings.node).rstrip("/")


def is_play_node(address: str) -> bool:
    """Whether a development node answers at an address of this very machine: what runs for it is one's own play."""
    from choir.doors.sdk.client import Client

    if (httpx.URL(address).host or "") not in _OWN_HOSTS:
        return False
    try:
        with Client(address, "", connect_s=0) as client:
            return client.node().mode == "dev"
    except ChoirError:
        return False


def choose(settings: Settings, address: str, *, rather_operator: bool = False) -> ChosenCredential:
    """Who asks the node at this address; `rather_operator` is for asking after the node itself."""
    if settings.token:
        origin = next(item.origin for item in settings.sources if item.name == "token")
        return ChosenCredential(settings.token, "setting", f"the setting 'token' ({origin}) says so")
    operator = _operator(settings, address)
    if rather_operator and operator is not None:
        return operator
    saved = saved_logins.load(address)
    if saved is not None:
        return ChosenCredential(saved.token, "login", f"you logged in to {saved.node}")
    return operator or ChosenCredential("", "none", "you have not logged in there")


def choose_operator(settings: Settings, address: str, *, asked: str = "--operator") -> ChosenCredential:
    """The operator of this home's own node, whoever else is logged in; `asked` is the option that says so."""
    found = _operator(settings, address)
    if found is None:
        raise Invalid(what=asked, why=f"no node of {settings.home} runs at {address}, or its token is not yours")
    return found


def _operator(settings: Settings, address: str) -> ChosenCredential | None:
    running = running_node(settings.home) if settings.home.exists() else None
    if running is None or running.url != address:
        return None
    token = operator_token(settings.home)
    why = f"the node at {address} runs on {settings.home}, and you can read its operator's token"
    return ChosenCredential(token, "operator", why) if token else None
