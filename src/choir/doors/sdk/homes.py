"""Which home a client acts from, told to a node by a name that only this home can know.

A buyer and a provider of one machine are not independent of each other. The command line says so by itself: each of
them names the home folder that their keys are in. The name is a hash of a secret in that folder and of the node's
address, so that no two nodes can compare what they were told, and nobody else can claim to be of this home.

Guarantees: whoever asks is never kept from anything by this; a node that does not know of it is not told.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from choir.doors.logins import saved_logins
from choir.foundation.errors import ChoirError
from choir.foundation.settings import load_settings

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_DOMAIN = "choir-home-v1"
_FILE = "home.secret"
_LOOPBACK = ("127.0.0.1", "::1")


def name_of(home: Path, address: str) -> str:
    """This home's name at a node."""
    url = httpx.URL(saved_logins.origin_of(address))
    if url.host in _LOOPBACK:  # one machine by several names
        url = url.copy_with(host="localhost")
    told = f"{_DOMAIN}\n{url}\n".encode() + _secret(home / _FILE)
    return hashlib.sha256(told).hexdigest()


def declare(client: Client) -> None:
    """Tell the node which home this is, if that is possible."""
    with suppress(ChoirError, OSError):
        client.me.declare_home(name_of(load_settings().home, client.url))


def _secret(path: Path) -> bytes:
    """Made once. Where two commands make it at one time, the last one stays."""
    kept = saved_logins.read_private(path)
    if kept is None:
        saved_logins.write_private(path, secrets.token_hex(32))
        kept = saved_logins.read_private(path)
    return kept or b""
