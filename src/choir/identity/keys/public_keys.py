"""Which public key stands for an owner: the one an agent stands on, else the newest key of the account.

Guarantee: only public keys; of those that stand for an owner now, none that was retired.
"""

from __future__ import annotations

from choir.identity.agents import store as agent_store
from choir.identity.keys import store as key_store
from choir.identity.model import owner_id
from choir.storage.database import Tx

_OWNERS = ("person:", "agent:")


def public_key_of(tx: Tx, owner: str) -> bytes | None:
    """The x-only key (BIP-340) that an owner signs with; None: they have none, or are nobody who could."""
    if not owner.startswith(_OWNERS):
        return None
    kind, id_ = owner_id(owner)
    agent = agent_store.get(tx, id_) if kind == "agent" else None
    if agent is not None and agent.nostr_key is not None:
        return agent.nostr_key
    live = [key.public for key in key_store.of_owner(tx, owner) if key.retired_us is None]
    return live[-1] if live else None


def public_keys_of(tx: Tx, owner: str) -> set[bytes]:
    """All keys that an owner has signed with here, also those that were retired since."""
    if not owner.startswith(_OWNERS):
        return set()
    kind, id_ = owner_id(owner)
    agent = agent_store.get(tx, id_) if kind == "agent" else None
    own = {agent.nostr_key} if agent is not None and agent.nostr_key is not None else set()
    return own | {key.public for key in key_store.of_owner(tx, owner)}
