"""One attempt, from the moment it is taken until it is handed in, given back, or over.

    fetching → working → handing in        and from each of them: giving back, or over

Guarantees: an attempt that was taken ends in exactly one way, and that is told; the node is asked again for as long as
the attempt has time; what is said to the node about a failure holds no path, no secret and no output of this machine.
"""

from __future__ import annotations

import base64
import re
import tempfile
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from choir.bazaar.attempts.model import AttemptOver, UnknownAttempt
from choir.bazaar.contracts import BadField
from choir.bazaar.jobs.reasons import in_words
from choir.bazaar.workers.fulfilment import FulfilledOrder
from choir.bazaar.workers.model import NoPlace, NotDone, WorkOrder
from choir.bazaar.workers.pool import WorkerPool
from choir.doors.jobs.shapes import AttemptOut, StartedOut
from choir.doors.provider.model import BadOrder, Tell
from choir.doors.provider.orders import OrderFetcher
from choir.doors.provider.retry import patiently
from choir.doors.sdk.client import Client
from choir.doors.sdk.errors import NodeError
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import ChoirError

_PATH = re.compile(r"(^|[\s'\"(])~?/[^\s]")
_REASON_CHARS_MAX = 200
_GIVE_BACK_S = 5.0  # how long a provider that stops waits for a node that is away
STOPPING = "The provider is stopping."


class Phase(StrEnum):
    FETCHING = "fetching"
    WORKING = "working"
    HANDING_IN = "delivering"
    GIVING_BACK = "withdrawing"


@dataclass(slots=True, eq=False)
class AttemptRun:
    """An attempt that this process has taken."""

    attempt: str
    job: str
    ceiling: int
    deadline: float  # by `time.monotonic`
    taken: float = field(default_factory=time.monotonic)
    type: str = ""
    phase: Phase = Phase.FETCHING
    over: threading.Event = field(default_factory=threading.Event)  # the node wants it no more
    stop: threading.Event = field(default_factory=threading.Event)  # this process wants it no more

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def unwanted(self) -> bool:
        return self.over.is_set() or self.stop.is_set()


class Carrier:
    """Carries attempts; each in a thread of its own."""

    def __init__(self, client: Client, pool: WorkerPool, fetcher: OrderFetcher, folder: Path, tell: Tell) -> None:
        self._client = client
        self._pool = pool
        self._fetcher = fetcher
        self._folder = folder
        self._tell = tell
        self._counting = threading.Lock()
        self.given_back_stopping = 0  # because this process stops

    def carry(self, item: AttemptRun) -> bool:
        """Do all of it; whether it was handed in."""
        try:
            with tempfile.TemporaryDirectory(prefix="order-", dir=self._folder, ignore_cleanup_errors=True) as folder:
                outcome = self._worked(item, Path(folder))
            return self._hand_in(item, outcome)
        except (AttemptOver, UnknownAttempt) as error:
            self._say("over", item, why=str(error))
        except ChoirError as error:
            self._end(item, error)
        except Exception as error:  # a fault of ours must not keep a place, nor the job
            self._say("fault", item, why=type(error).__name__)
            self._give_back(item, "The provider's machine failed.")
        return False

    def stop(self, item: AttemptRun, *, over: bool) -> None:
        """Stop the work: the node has no use for it any more (`over`), or this process ends."""
        (item.over if over else item.stop).set()
        self._pool.cancel(item.job)

    def _worked(self, item: AttemptRun, folder: Path) -> FulfilledOrder:
        def begin() -> StartedOut:
            return self._client.attempts.start(item.attempt, order=True)

        def ask() -> WorkOrder:
            for left in folder.iterdir():  # of a try that a broken connection ended
                left.unlink()
            return self._fetcher.order(item.attempt, item.job, begun.order, item.deadline, folder, item.unwanted)

        begun = patiently(begin, item.deadline, item.unwanted)
        order = patiently(ask, item.deadline, item.unwanted)
        item.type = order.type.value
        item.phase = Phase.WORKING
        future = self._pool.submit(order)
        self._say("started", item, left_s=round(item.left_s))
        if item.unwanted():  # said between taking it and handing it to the pool
            self._pool.cancel(item.job)
        return future.result()

    def _hand_in(self, item: AttemptRun, outcome: FulfilledOrder) -> bool:
        if outcome.error is not None:
            raise outcome.error
        if item.over.is_set():
            self._say("over", item, why="The work finished after it was cancelled.")
            return False
        item.phase = Phase.HANDING_IN
        try:
            patiently(lambda: hand_in(self._client, item.attempt, outcome), item.deadline, item.stop.is_set)
        except AttemptOver as error:
            self._say("late", item, why=str(error))
            return False
        self._say("handed_in", item, artifact=outcome.claimed, trajectory=outcome.signed.hash)
        return True

    def _end(self, item: AttemptRun, error: ChoirError) -> None:
        """It will not be handed in."""
        if item.over.is_set():
            self._say("cancelled", item, why="The node no longer needs it.")
        elif item.stop.is_set():
            self._give_back(item, STOPPING)
        else:
            self._give_back(item, reason_of(error), str(error))

    def _give_back(self, item: AttemptRun, reason: str, why: str = "") -> None:
        item.phase = Phase.GIVING_BACK
        deadline = min(item.deadline, time.monotonic() + _GIVE_BACK_S) if item.stop.is_set() else item.deadline
        again = reason == STOPPING
        try:
            patiently(
                lambda: self._client.attempts.give_back(item.attempt, reason, again=again), deadline, item.over.is_set
            )
        except ChoirError as error:
            self._say("not_given_back", item, reason=reason, why=str(error))
        else:
            with self._counting:
                self.given_back_stopping += again
            self._say("given_back", item, reason=reason, why=why if why != reason else "")

    def refuse(self, attempt: str, job: str, reason: str) -> None:
        """Give an attempt back that was never taken."""
        self._give_back(AttemptRun(attempt, job, 0, time.monotonic() + _GIVE_BACK_S), reason)

    def _say(self, what: str, item: AttemptRun, **facts: object) -> None:
        took_s = round(time.monotonic() - item.taken, 3)
        self._tell(what, job=item.job, attempt=item.attempt, type=item.type, took_s=took_s, **facts)


def reason_of(error: ChoirError) -> str:
    """What the node and the buyer are told: short, true, and nothing of this machine."""
    if isinstance(error, NotDone | BadOrder | BadField):
        text = str(error)
        return text[:_REASON_CHARS_MAX] if not _PATH.search(text) else _failed(error)
    if isinstance(error, NoPlace):
        return "No worker can take it now."
    return _failed(error)


def _failed(error: ChoirError) -> str:
    return f"The provider's machine failed: {in_words(error.code)}."


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
