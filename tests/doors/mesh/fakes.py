"""A node that exists only in memory, with the methods of a client: what it says can be bent at any point."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from choir.bazaar.contracts import RunOutput
from choir.doors.jobs.shapes import JobOut, SignedOut, UploadOut, VerdictOut
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash, hash_digest
from choir.foundation.errors import Unavailable
from choir.foundation.policy import Policy, describe, load
from choir.foundation.signing import Ed25519Signer
from choir.ledger.notes import VerifierKey
from choir.policies import default_policy

AT = "2026-11-16T05:00:00.000000Z"
BUYER = "agent:buyer"
JOB, ATTEMPT, PROVIDER = "job_1", "attempt_1", "provider_1"
PART = 7  # bytes, so that even small things have parts


@dataclass
class FakeNode:
    """One job, from open to the end; `path` is the states that it goes through, one at each look."""

    path: list[str] = field(default_factory=lambda: ["paid"])
    output: RunOutput = field(default_factory=lambda: RunOutput(0, b"42\n"))
    mode: str = "dev"
    url: str = "http://127.0.0.1:1"
    away: int = 0  # how many looks find nobody
    bend: dict[str, Callable[[Any], Any]] = field(default_factory=dict)  # what to change in which answer
    asked: list[str] = field(default_factory=list)
    passed: bool = True
    paid: int = 200_000
    extras: int = 0
    overrides: dict[str, str] = field(default_factory=dict)  # of its policy
    known_policy: Policy | None = None  # as a client keeps it

    def __post_init__(self) -> None:
        self.signer = Ed25519Signer(b"\7" * 32)
        self.request: dict[str, Any] = {}
        self.uploaded: dict[str, dict[int, bytes]] = {}
        self.closed = 0
        self.events_told: list[Any] = []
        self.jobs = SimpleNamespace(
            open=self._open, get=self._get, artifact_part=self._artifact, cancel=self._get, dispute=self._dispute
        )
        self.attempts = SimpleNamespace(verdict=self._verdict, receipt=self._receipt)
        self.uploads = SimpleNamespace(begin=self._begin, get=self._upload, put_part=self._put, finish=self._upload)
        self.who = SimpleNamespace(source="given")
        self.me = SimpleNamespace(who=lambda: SimpleNamespace(role="agent", person=None, owner=BUYER))

    # As a client

    def twin(self) -> FakeNode:
        return self

    def close(self) -> None:
        self.closed += 1

    def events(self, **_: Any) -> Iterator[Any]:
        yield from self.events_told

    def node(self) -> Any:
        key = str(VerifierKey("choir/test", self.signer.public))
        return SimpleNamespace(key=key, mode=self.mode)

    def policy(self) -> Any:
        self.asked.append("policy")
        return SimpleNamespace(values=list(describe(load(default_policy(), self.overrides))))

    # Jobs

    def _said(self, name: str, value: Any) -> Any:
        return self.bend[name](value) if name in self.bend else value

    def _open(self, type_: str, request: Mapping[str, Any], **rest: Any) -> JobOut:
        self.asked.append("open")
        self.request, self.sent = dict(request), rest
        return self._job(self.path[0] if self.path[0] != "paid" else "open")

    def _get(self, job: str) -> JobOut:
        self.asked.append("get")
        if self.away:
            self.away -= 1
            raise Unavailable(what="The node", why="it is away")
        assert job == JOB
        return self._job(self.path.pop(0) if len(self.path) > 1 else self.path[0])

    def _job(self, state: str) -> JobOut:
        won = state == "paid"
        over = state in ("paid", "closed", "expired", "cancelled")
        value = {
            "id": JOB, "type": "sandbox_run", "state": state, "buyer": BUYER, "actor": BUYER,
            "budget": self.request.get("max_cost_msat", "0"), "held": "0", "price": str(self.paid) if won else None,
            "extras": str(self.extras),
            "request": canonical_hash(self.request), "inputs": {}, "hidden": None, "strategy": {}, "criteria": {},
            "time_limit_s": 60, "created_at": AT, "expires_at": AT, "cancelled_at": None,
            "closed_at": AT if over else None, "winner": ATTEMPT if won else None,
            "receipt": self.receipt_hash if won else None, "qualification": False,
            "attempts_made": int(over and state != "expired"),
            "attempts": [self._attempt(state)] if over and state != "expired" else [],
        }  # fmt: skip
        return JobOut.model_validate(self._said("job", value))

    def _attempt(self, state: str) -> dict[str, Any]:
        good = state == "paid"
        return {
            "id": ATTEMPT, "job": JOB, "n": 1, "provider": PROVIDER, "owner": "agent:seller",
            "state": "passed" if good else "failed", "base": "200000", "per_unit": "0", "cap": "5000000",
            "ceiling": str(int(self.request.get("max_cost_msat", "0")) - self.extras),
            "assigned_at": AT, "deadline_at": AT, "delivered_at": AT, "ended_at": AT,
            "artifact": self.artifact_hash, "result": "sha256:" + "11" * 32,
            "trajectory": "sha256:" + "22" * 32, "verdict": canonical_hash(self.verdict),
            "receipt": self.receipt_hash if good else None, "paid": str(self.paid if good else 0),
            "extras": str(self.extras if good else 0),
            "reason": "" if good else "run.output_differs",
        }  # fmt: skip

    # What came of it

    @property
    def artifact_hash(self) -> ObjectHash:
        return bytes_hash(self.output.to_bytes())

    @property
    def verdict(self) -> dict[str, Any]:
        check = {"name": "exit code", "passed": self.passed}
        bad = {} if self.passed else {"reason": "run.wrong_exit_code", "details": "It ended with another code."}
        return {
            "format": "verdict/1", "job": JOB, "attempt": ATTEMPT, "request": canonical_hash(self.request),
            "artifact": self.artifact_hash, "passed": self.passed, "units_milli": 0, "sandbox": "bubblewrap",
            "checks": [{"name": "hash", "passed": True}, check | bad],
        }  # fmt: skip

    @property
    def receipt(self) -> dict[str, Any]:
        objects = {
            "request": canonical_hash(self.request), "artifact": self.artifact_hash, "result": "sha256:" + "11" * 32,
            "trajectory": "sha256:" + "22" * 32, "verdict": canonical_hash(self.verdict),
        }  # fmt: skip
        value: dict[str, Any] = {
            "format": "receipt/1", "payer": BUYER, "actor": BUYER, "delegation": None, "action": "bazaar.sandbox_run",
            "job": JOB, "attempt": ATTEMPT, "payee": "agent:seller",
            "budget": {"amount": self.request.get("max_cost_msat", "0"), "asset": "SAT"},
            "spent": {"amount": str(self.paid + self.extras), "asset": "SAT"}, "objects": objects,
            "verifiers": [], "sandbox": "bubblewrap", "outcome": "passed", "policy": "sha256:" + "33" * 32, "at": AT,
        }  # fmt: skip
        return dict(self._said("receipt_value", value))

    @property
    def receipt_hash(self) -> ObjectHash:
        return canonical_hash(self.receipt)

    def _verdict(self, attempt: str) -> VerdictOut:
        value = {"hash": canonical_hash(self.verdict), "verdict": self.verdict, "evidence": {}}
        return VerdictOut.model_validate(self._said("verdict", value))

    def _receipt(self, attempt: str) -> SignedOut:
        signature = self.signer.sign(hash_digest(self.receipt_hash)).hex()
        one = {"scheme": "ed25519", "public": self.signer.public.hex(), "signature": signature, "at": AT}
        value = {"hash": self.receipt_hash, "value": self.receipt, "signatures": [one]}
        return SignedOut.model_validate(self._said("receipt", value))

    def _artifact(self, job: str, n: int) -> bytes:
        data = self._said("artifact", self.output.to_bytes())
        return bytes(data[n * PART : (n + 1) * PART])

    def _dispute(self, job: str, trigger: str, statement: str, *, attempt: str | None = None) -> Any:
        return SimpleNamespace(job=job, trigger=str(trigger), statement=statement)

    # Uploads: every second part is lost the first time

    def _begin(self, size: int, hash_: str) -> UploadOut:
        self.announced = (size, hash_)
        self.uploaded.setdefault("upload_1", {})
        self._lost: set[int] = set()
        return self._upload("upload_1")

    def _put(self, upload: str, n: int, data: bytes) -> None:
        if n % 2 and n not in self._lost:
            self._lost.add(n)
            return
        self.uploaded[upload][n] = data

    def _upload(self, upload: str) -> UploadOut:
        size, hash_ = self.announced
        part = 50_000
        have = self.uploaded[upload]
        missing = [n for n in range(-(-size // part)) if n not in have]
        data = b"".join(have[n] for n in sorted(have))
        done = not missing and f"sha256:{hashlib.sha256(data).hexdigest()}" == hash_
        return UploadOut(
            id=upload, bytes=size, hash=hash_, part_bytes=part, parts=-(-size // part), missing=missing,
            expires_at=AT, done=done,
        )  # fmt: skip


def inline(sent: Mapping[str, str]) -> bytes:
    return base64.b64decode(sent["data"])
