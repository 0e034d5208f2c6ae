"""Which key a node signs with: the one given, else the one it was first seen with at its address.

A client has no other way to know a node than its address, so the key is taken on first use and kept. From then on
another key is refused. A development node is made anew often, so there another key is taken and told about; that it
was a development node when it was first seen is what counts, not what it says of itself later.

Guarantees: who pins a key by hand (`node_key`) is never overruled. What it cannot do: tell on the first contact
whether the node is the one that was meant. Compare `choir key show` on the node with what stands in the file, or
hand the key to `MeshClient`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from choir.doors.logins import saved_logins
from choir.doors.logins.saved_logins import UnsafeLogin
from choir.foundation.errors import Broken
from choir.ledger.notes import VerifierKey

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client


class NodeKeyChanged(Broken):
    """The node at an address signs with another key than before."""

    code = "sdk.node_key_changed"
    sentence = "The node at {node} signs with a different key than before: {key} now, {before} before."
    hint = "If its operator confirms the key change, delete {file}; otherwise do not trust this node."


@dataclass(frozen=True, slots=True)
class PinnedKey:
    """A node as it was first seen."""

    node: str
    key: str
    mode: str


def signing_key(client: Client, given: str | None = None) -> bytes:
    """The public key that the node's receipts must be signed with."""
    if given is not None:
        return VerifierKey.parse(given).public
    found = client.node()
    before = load(client.url)
    if before is None or (before.mode == "dev" and before.key != found.key):
        save(PinnedKey(saved_logins.origin_of(client.url), found.key, found.mode))
    elif before.key != found.key:
        raise NodeKeyChanged(node=client.url, key=found.key, before=before.key, file=str(path_of(client.url)))
    return VerifierKey.parse(found.key).public


def folder() -> Path:
    """Beside the saved logins, a folder of its own."""
    return saved_logins.folder().with_name("nodes")


def path_of(address: str) -> Path:
    """Where a node's key is kept."""
    return folder() / f"{quote(saved_logins.origin_of(address), safe='')}.json"


def load(address: str) -> PinnedKey | None:
    data = saved_logins.read_private(path_of(address))
    if data is None:
        return None
    try:
        return PinnedKey(**json.loads(data))
    except (ValueError, TypeError):
        raise UnsafeLogin(path=str(path_of(address)), why="it is not a node key file of this version") from None


def save(pinned: PinnedKey) -> None:
    saved_logins.write_private(path_of(pinned.node), json.dumps(asdict(pinned)))
