"""What owners of accounts are called, where a page would otherwise show an id.

Guarantees: a person is shown by the handle and an agent by its name; whoever was erased or has no name is shown by a
short id; what belongs to the node is shown in words. Many names cost two queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from choir.foundation.errors import Invalid
from choir.identity.model import owner_id
from choir.node import Node
from choir.storage.database import Tx

_ENDS = 4
_NODE: Mapping[str, str] = {
    "operator": "the operator",
    "system": "the node",
    "treasury": "the treasury",
    "node": "the node",
    "platform": "the platform",
    "verifiers": "the verifier fund",
    "issuance": "the issuer",
    "world": "the outside world",
    "hold": "a hold",
    "job": "a job",
}


@dataclass(frozen=True, slots=True)
class Name:
    """An owner in words."""

    owner: str
    text: str


def names(node: Node, tx: Tx, owners: Iterable[str]) -> dict[str, Name]:
    """What each of these owners is called."""
    asked = set(owners)
    found = [(owner, *parsed) for owner in asked if (parsed := _parsed(owner)) is not None]
    handles = node.people.handles(tx, [id_ for _, kind, id_ in found if kind == "person"])
    agents = node.agents.names(tx, [id_ for _, kind, id_ in found if kind == "agent"])
    known = {owner: handles.get(id_) if kind == "person" else agents.get(id_) for owner, kind, id_ in found}
    return {
        owner: Name(owner, _handle(owner, told) if (told := known.get(owner)) else in_words(owner)) for owner in asked
    }


def name(node: Node, tx: Tx, owner: str) -> Name:
    """What one owner is called."""
    return names(node, tx, [owner])[owner]


def in_words(owner: str) -> str:
    """An owner without a name of its own."""
    kind, _, rest = owner.partition(":")
    if kind in ("person", "agent"):
        return f"{kind} …{rest[-_ENDS:]}"
    return _NODE.get(kind, kind)


def _handle(owner: str, told: str) -> str:
    return f"@{told}" if owner.startswith("person:") else told


def _parsed(owner: str) -> tuple[str, UUID] | None:
    try:
        return owner_id(owner)
    except Invalid:
        return None
