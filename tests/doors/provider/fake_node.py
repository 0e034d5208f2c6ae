"""A stand-in for a node, with the SDK's rooms as far as a provider's process asks them, and as hostile as wanted.

It keeps attempts in memory. A real node is used in `test_for_real.py`; here it is about what a node can do to a
provider: be away, be late, change its mind, and send what it should not.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.attempts.model import AttemptOver
from choir.bazaar.contracts import SandboxRunRequest, Terms
from choir.bazaar.jobs.model import JobType
from choir.doors.jobs.shapes import AttemptOut, JobOut, OrderOut, RequestOut, StartedOut, UploadOut
from choir.doors.providers.shapes import BeatOut, EarningsOut, ProviderOut
from choir.doors.sdk.errors import NoNode
from choir.foundation.canonical import canonical_hash
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time

OWNER = "agent:01j9zq5a1wf6vsy1m3n4c5d6e7"
PROVIDER = "provider_01j9zr4ya0fj3q4r5s6t7v8w9x"
PART_BYTES = 100_000
LIVE = ("assigned", "running", "delivered", "verifying")


@dataclass
class FakeJob:
    """A job with one attempt."""

    attempt: AttemptOut
    type: JobType
    request: dict[str, Any]
    named: str  # the hash that the job names
    inputs: dict[str, bytes] = field(default_factory=dict)
    input_hashes: dict[str, str] = field(default_factory=dict)
    handed: dict[str, Any] | None = None
    given_back: str | None = None


class FakeNode:
    """All rooms in one; `client` is what the provider's process gets."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.jobs_by_id: dict[str, FakeJob] = {}
        self.away = False
        self.refuses: Exception | None = None
        self.beats: list[dict[str, Any]] = []
        self.drained: list[bool] = []
        self.retired_at: str | None = None
        self.uploaded: dict[str, bytes] = {}
        self.earned = 0
        self.next_s = 1
        self.heard: Callable[[str], None] = lambda _job: None  # called when an event is told
        self.ahead_s = 0.0
        self.tells_orders = True  # else as a node of before: the order has to be fetched
        self.before_hand_in: Callable[[FakeJob], None] = lambda _job: None
        self.parts_of: Callable[[bytes], Iterator[bytes]] = _parts
        for room in ("providers", "attempts", "jobs", "uploads"):
            setattr(self, room, _Room(self, room))

    # --- what a test does ---

    def offer(
        self, *argv: str, seconds: float = 60, type_: JobType = JobType.SANDBOX_RUN, state: str = "assigned",
        request: dict[str, Any] | None = None, **inputs: bytes,
    ) -> FakeJob:  # fmt: skip
        """Assign a job to the provider."""
        n = len(self.jobs_by_id) + 1
        own = SandboxRunRequest(argv or ("true",), Terms(1_000_000, 60, f"k{n}"), cpu_s_max=5).to_json()
        asked = own if request is None else request
        attempt = AttemptOut(
            id=f"attempt_{n}", job=f"job_{n}", n=1, provider=PROVIDER, owner=OWNER, state=state, base="200000",
            per_unit="500", cap="5000000", ceiling="1000000", assigned_at=self.time(), deadline_at=self.time(seconds),
            delivered_at=None, ended_at=None, artifact=None, result=None, trajectory=None, verdict=None, receipt=None,
            paid="0", reason="",
        )  # fmt: skip
        hashes = {name: f"sha256:{hashlib.sha256(data).hexdigest()}" for name, data in inputs.items()}
        made = FakeJob(attempt, type_, asked, canonical_hash(asked), dict(inputs), hashes)
        with self.lock:
            self.jobs_by_id[attempt.job] = made
        self.heard(attempt.job)
        return made

    def time(self, seconds: float = 0.0) -> str:
        return format_time(SystemClock().now_us() + int((seconds + self.ahead_s) * MICROSECONDS))

    def end(self, job: FakeJob, state: str, *, paid: int = 0, reason: str = "") -> None:
        with self.lock:
            job.attempt = job.attempt.model_copy(update={"state": state, "paid": str(paid), "reason": reason})
            self.earned += paid * 9 // 10
        self.heard(job.attempt.job)

    # --- what it answers ---

    def answer(self, room: str, name: str, *args: Any, **options: Any) -> Any:
        if self.away:
            raise NoNode(url="http://fake")
        if self.refuses is not None:
            raise self.refuses
        with self.lock:
            return getattr(self, f"_{room}_{name}")(*args, **options)

    def _providers_beat(self, **beat: Any) -> BeatOut:
        self.beats.append(beat)
        waiting = [job.attempt for job in self.jobs_by_id.values() if job.attempt.state in ("assigned", "running")]
        return BeatOut(provider=self.provider(), attempts=waiting, next_s=self.next_s, now=self.time())

    def _providers_drain(self, on: bool) -> ProviderOut:
        self.drained.append(on)
        return self.provider()

    def _providers_earnings(self, period: str) -> EarningsOut:
        return EarningsOut(period="all", since=None, jobs=0, earned=str(self.earned), fees="0", lines=[])

    def provider(self) -> ProviderOut:
        example: dict[str, Any] = ProviderOut.model_config["json_schema_extra"]["examples"][0]  # type: ignore[index,assignment]
        return ProviderOut.model_validate({**example, "retired_at": self.retired_at})

    def _attempts_mine(self, *, live: bool = True, limit: int = 100) -> list[AttemptOut]:
        found = [job.attempt for job in self.jobs_by_id.values() if not live or job.attempt.state in LIVE]
        return found[::-1]

    def _attempts_get(self, attempt: str) -> AttemptOut:
        return self._job(attempt).attempt

    def _attempts_start(self, attempt: str, *, order: bool = False) -> StartedOut:
        job = self._at_work(attempt)
        self.end(job, "running")
        told = OrderOut(type=job.type, hash=job.named, request=job.request, inputs=job.input_hashes)
        return StartedOut(**job.attempt.model_dump(), order=told if order and self.tells_orders else None)

    def _attempts_give_back(self, attempt: str, reason: str, *, again: bool = False) -> AttemptOut:
        job = self._at_work(attempt)
        job.given_back = reason
        self.end(job, "gone" if again else "withdrawn")
        return job.attempt

    def _attempts_hand_in(self, attempt: str, **handed: Any) -> AttemptOut:
        self.before_hand_in(self._job(attempt))
        job = self._at_work(attempt)
        job.handed = handed
        self.end(job, "delivered")
        return job.attempt

    def _jobs_get(self, job: str) -> JobOut:
        found = self.jobs_by_id[job]
        example: dict[str, Any] = JobOut.model_config["json_schema_extra"]["examples"][0]  # type: ignore[index,assignment]
        facts = {"id": job, "type": found.type, "request": found.named, "inputs": found.input_hashes, "attempts": []}
        return JobOut.model_validate({**example, **facts})

    def _jobs_request(self, job: str) -> RequestOut:
        found = self.jobs_by_id[job]
        return RequestOut(hash=found.named, request=found.request)

    def _jobs_input_part(self, job: str, name: str, n: int) -> bytes:
        parts = self.parts_of(self.jobs_by_id[job].inputs[name])
        for number, part in enumerate(parts):
            if number == n:
                return part
        return b""

    def _uploads_begin(self, size: int, hash_: str) -> UploadOut:
        self.uploaded[hash_] = b""
        parts = -(-size // PART_BYTES)
        missing = list(range(parts))
        return UploadOut(
            id=hash_, bytes=size, hash=hash_, part_bytes=PART_BYTES, parts=parts, missing=missing,
            expires_at=self.time(60), done=False,
        )  # fmt: skip

    def _uploads_get(self, id_: str) -> UploadOut:
        return self._uploads_begin(0, id_) if id_ not in self.uploaded else self._uploads_done(id_, done=False)

    def _uploads_done(self, id_: str, *, done: bool) -> UploadOut:
        size = len(self.uploaded[id_])
        return UploadOut(
            id=id_, bytes=size, hash=id_, part_bytes=PART_BYTES, parts=1, missing=[], expires_at=self.time(), done=done
        )

    def _uploads_put_part(self, id_: str, n: int, data: bytes) -> None:
        assert len(self.uploaded[id_]) == n * PART_BYTES
        self.uploaded[id_] += data

    def _uploads_finish(self, id_: str) -> UploadOut:
        assert id_ == f"sha256:{hashlib.sha256(self.uploaded[id_]).hexdigest()}"
        return self._uploads_done(id_, done=True)

    def _job(self, attempt: str) -> FakeJob:
        return next(job for job in self.jobs_by_id.values() if job.attempt.id == attempt)

    def _at_work(self, attempt: str) -> FakeJob:
        job = self._job(attempt)
        if job.attempt.state not in ("assigned", "running"):
            raise AttemptOver(attempt=attempt, state=job.attempt.state, job=job.attempt.job)
        return job

    def bytes_of(self, blob: dict[str, str]) -> bytes:
        """What a hand-in's blob stands for."""
        return base64.b64decode(blob["data"]) if "data" in blob else self.uploaded[blob["hash"]]


class _Room:
    def __init__(self, node: FakeNode, name: str) -> None:
        self._node = node
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *args, **options: self._node.answer(self._name, method, *args, **options)


def _parts(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), PART_BYTES):
        yield data[at : at + PART_BYTES]
