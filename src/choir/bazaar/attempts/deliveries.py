"""What a provider hands in: its bytes, kept and checked for size, and its result, read strictly.

Guarantee: what the verifier gets can be read. A result that is not as its contract has it is refused here: the
verifier would take it for an order that cannot be verified, and call the buyer's job off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.attempts.service import Attempts, StoredDelivery
from choir.bazaar.contracts import read_result
from choir.bazaar.jobs.service import buyer_of
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.uploads import blobs
from choir.bazaar.uploads.blobs import SentBlob
from choir.foundation.canonical import ObjectHash, canonical_bytes, parse_json
from choir.foundation.errors import TooLarge
from choir.foundation.policy import Policy
from choir.identity.model import Principal
from choir.objects.service import Objects
from choir.storage.database import Tx

ARTIFACT, TRAJECTORY = "artifact", "trajectory"


@dataclass(frozen=True, slots=True)
class SentDelivery:
    """What a provider sends."""

    artifact: SentBlob
    claimed: ObjectHash
    result: dict[str, Any]
    trajectory: SentBlob
    result_signature: bytes
    trajectory_signature: bytes


class DeliveryIntake:
    """Takes deliveries; inside the caller's transaction."""

    def __init__(self, attempts: Attempts, objects: Objects, policy: Policy) -> None:
        self._attempts = attempts
        self._objects = objects
        self._policy = policy

    def hand_in(self, tx: Tx, who: Principal, id_: UUID, sent: SentDelivery) -> Attempt:
        """Keep the bytes and deliver them; the same delivery again changes nothing."""
        taken = self._attempts.taken(tx, who, id_)
        attempt = taken.attempt
        result = self._plain(sent.result)
        read_result(taken.job.type, result, self._policy.of(VerificationPolicy))
        limits = {
            ARTIFACT: self._policy.of(BazaarPolicy).artifact_bytes_max,
            TRAJECTORY: self._policy.of(BazaarPolicy).trajectory_bytes_max,
        }
        holders = [attempt.owner, buyer_of(who)]
        blobs.keep(tx, self._objects, (sent.artifact, sent.trajectory), attempt.owner, holders, limits)
        handed = StoredDelivery(
            artifact=sent.artifact.name,
            claimed=sent.claimed,
            result=result,
            trajectory=sent.trajectory.name,
            result_signature=sent.result_signature,
            trajectory_signature=sent.trajectory_signature,
        )
        return self._attempts.deliver(tx, who, taken, handed)

    def _plain(self, result: dict[str, Any]) -> Any:
        data = canonical_bytes(result)
        limit = self._policy.of(VerificationPolicy).request_bytes_max
        if len(data) > limit:
            raise TooLarge(what="The result", size=len(data), limit=limit)
        return parse_json(data)
