"""Handing in: the artifact, the result, the trajectory, and the signatures over them.

Guarantees: every step can be repeated, so a broken connection costs nothing but time; bytes that are few travel in the
request, more of them are uploaded in parts before, and only the parts that are missing.
"""

from __future__ import annotations

import base64

from choir.bazaar.workers.fulfilment import FulfilledOrder
from choir.doors.jobs.shapes import AttemptOut
from choir.doors.sdk.client import Client
from choir.doors.sdk.errors import NodeError
from choir.foundation.canonical import bytes_hash

INLINE_BYTES_MAX = 200_000
_ROUNDS_MAX = 10_000  # of at most a thousand missing parts each


def hand_in(client: Client, attempt: str, outcome: FulfilledOrder) -> AttemptOut:
    """Deliver what a worker made."""
    assert outcome.result is not None
    assert outcome.claimed is not None
    return client.attempts.hand_in(
        attempt,
        artifact=blob(client, outcome.artifact),
        claimed=outcome.claimed,
        result=outcome.result.to_json(),
        trajectory=blob(client, outcome.trajectory),
        result_signature=outcome.result_signature.hex(),
        trajectory_signature=outcome.signed.signature.hex(),
    )


def blob(client: Client, data: bytes) -> dict[str, str]:
    """Bytes as a request names them, uploaded if they are many."""
    if len(data) <= INLINE_BYTES_MAX:
        return {"data": base64.b64encode(data).decode()}
    name = bytes_hash(data)
    upload(client, data, name)
    return {"hash": name}


def upload(client: Client, data: bytes, name: str) -> None:
    """Send what is missing until nothing is."""
    state = client.uploads.begin(len(data), name)
    for _ in range(_ROUNDS_MAX):
        if state.done or not state.missing:
            break
        if state.part_bytes < 1:
            raise NodeError(detail="The node asked for empty parts.")
        for n in state.missing:
            part = data[n * state.part_bytes : (n + 1) * state.part_bytes]
            if not part:
                raise NodeError(detail="The node asked for a part that does not exist.")
            client.uploads.put_part(state.id, n, part)
        state = client.uploads.get(state.id)
    if not state.done:
        client.uploads.finish(state.id)
