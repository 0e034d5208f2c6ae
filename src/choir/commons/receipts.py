"""Receipts of what moves in the commons: `receipt/1`, signed by the node and named on the entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from choir.foundation.canonical import ObjectHash, hash_digest
from choir.foundation.clock import Clock, format_time
from choir.identity.delegations.model import delegation_id
from choir.identity.model import Principal
from choir.ledger.keys import NodeKeys
from choir.objects.model import Scheme, SignedObject
from choir.objects.service import Objects
from choir.storage.database import Tx

_HOLDER = "commons:receipts"


class Receipts:
    """Makes and signs receipts, inside the caller's transaction."""

    def __init__(self, objects: Objects, keys: NodeKeys, clock: Clock, policy_hash: ObjectHash) -> None:
        self._objects = objects
        self._keys = keys
        self._clock = clock
        self._policy_hash = policy_hash

    def sign(
        self,
        tx: Tx,
        who: Principal | None,
        payer: str,
        action: str,
        *,
        budget: int,
        spent: int,
        objects: Mapping[str, str],
        verifiers: Mapping[str, str],
        outcome: str,
    ) -> ObjectHash:
        """The node's word on what was done; amounts are units of CHIP."""
        delegation = None if who is None or who.delegation is None else delegation_id(who.delegation)
        atom = {
            "format": "receipt/1",
            "payer": payer,
            "actor": payer if who is None else who.source,
            "delegation": delegation,
            "action": action,
            "budget": {"amount": str(budget), "asset": "CHIP"},
            "spent": {"amount": str(spent), "asset": "CHIP"},
            "objects": dict(objects),
            "verifiers": [{"name": name, "version": version} for name, version in verifiers.items()],
            "sandbox": None,
            "outcome": outcome,
            "policy": self._policy_hash,
            "at": format_time(self._clock.now_us()),
        }
        return self.keep(tx, atom)

    def keep(self, tx: Tx, atom: object) -> ObjectHash:
        """Keep something that the node says, with its signature."""
        return self.keep_all(tx, [atom])[0]

    def keep_all(self, tx: Tx, atoms: Sequence[object]) -> list[ObjectHash]:
        """Keep several things that the node says, each with its signature."""
        names = [stored.hash for stored in self._objects.put_atoms(tx, atoms, None, _HOLDER)]
        signer = self._keys.signer(tx)
        signed = [
            SignedObject(name, Scheme.ED25519, signer.public, signer.sign(hash_digest(name)))
            for name in sorted(set(names))
        ]
        self._objects.add_signatures(tx, signed)
        return names
