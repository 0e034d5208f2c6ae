"""From an order to what is handed in: one worker, one trajectory, one signature.

Guarantees: whatever happens, the trajectory is ended and signed, and tells how it went; an error that is nobody's
refusal comes out as `BrokeDown` and says no more than its kind, so that no piece of an order ends in a log.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

from choir.bazaar.contracts import JobResult
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader as trajectories
from choir.bazaar.trajectories.reader import SignedTrajectory
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.model import Cancelled
from choir.bazaar.workers.model import BrokeDown, IsCancelled, Stopped, TimeUp, Worker, WorkOrder, WorkProduct
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.clock import Clock
from choir.foundation.errors import ChoirError
from choir.identity.keys.secret_values import SecretKey


@dataclass(frozen=True, slots=True)
class FulfilledOrder:
    """What a provider hands in, or why not. The trajectory is there in either case."""

    order: WorkOrder
    trajectory: bytes
    signed: SignedTrajectory  # the trajectory's name and signature
    artifact: bytes = b""
    claimed: ObjectHash | None = None  # of the artifact
    result: JobResult | None = None
    result_signature: bytes = b""  # over the hash of the result in canonical form
    error: ChoirError | None = None

    @property
    def is_done(self) -> bool:
        return self.error is None


@dataclass(frozen=True, slots=True)
class Fulfilment:
    """`fulfil` with a provider's key, as the worker pool takes it."""

    key: SecretKey
    clock: Clock
    policy: WorkersPolicy

    def __call__(self, order: WorkOrder, worker: Worker, cancelled: IsCancelled) -> FulfilledOrder:
        return fulfil(order, worker, self.key, self.clock, self.policy, cancelled)


def fulfil(
    order: WorkOrder, worker: Worker, key: SecretKey, clock: Clock, policy: WorkersPolicy, cancelled: IsCancelled
) -> FulfilledOrder:
    """Let the worker work; never raises for what the worker does."""
    public = trajectories.provider_of(key)
    header = trajectories.header(order.job, public, order.type, order.base_commit, clock.now_us())
    file = io.BytesIO()
    writer = TrajectoryWriter(file, header, clock, policy)
    produced, error = _attempt(order, worker, writer, cancelled)
    if produced is not None:
        writer.end(produced.summary, produced.tokens_in, produced.tokens_out)
    else:
        writer.end(f"not done: {error}")
    data = file.getvalue()
    signed = trajectories.sign(data, key)
    if produced is None:
        return FulfilledOrder(order, data, signed, error=error)
    result = replace(produced.result, trajectory_id=signed.hash)
    signature = trajectories.sign_hash(bytes_hash(result.to_bytes()), key)
    return FulfilledOrder(order, data, signed, produced.artifact, bytes_hash(produced.artifact), result, signature)


def _attempt(
    order: WorkOrder, worker: Worker, writer: TrajectoryWriter, cancelled: IsCancelled
) -> tuple[WorkProduct | None, ChoirError | None]:
    def over() -> bool:
        return cancelled() or order.left_s <= 0

    try:
        return worker.work(order, writer, over), None
    except (Cancelled, Stopped):
        return None, Stopped() if cancelled() else TimeUp(what="the work")
    except ChoirError as error:
        return None, error
    except Exception as error:
        return None, BrokeDown(why=type(error).__name__)
