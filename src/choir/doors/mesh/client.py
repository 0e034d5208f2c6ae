"""Buying work: order, wait, verify, dispute.

    with MeshClient() as mesh:
        order = mesh.run(["python3", "-c", "print(6*7)"])
        print(mesh.await_and_verify(order))

Guarantees: what `await_and_verify` returns was paid for and hashes to what was verified and billed, and the receipt is
signed by the node's key (given, or as first seen: `node_keys`); anything else is an exception that says what it cost.
Waiting goes on across broken connections and restarts of the node. Amounts are milli-satoshi.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from choir.bazaar.disputes.model import Trigger
from choir.bazaar.jobs.reasons import in_words
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.doors.disputes.shapes import DisputeOut
from choir.doors.jobs.shapes import JobOut
from choir.doors.mesh import job_wait, receipts
from choir.doors.mesh.model import Handle, Outcome, WrongAnswer, checks_of, failed, is_over, must_be, typed, winner_of
from choir.doors.mesh.orders import Orders
from choir.doors.sdk import blobs, node_keys
from choir.doors.sdk.deadlines import within
from choir.doors.sdk.policies import policy_of
from choir.foundation.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_PAUSE_S = 1.0


class MeshClient(Orders):
    """A buyer. Threads may share it.

    `client` says at which node and as whom; without it, whoever `Client()` finds here. An operator's token that was
    found and not given buys nothing; on a development node this machine's own buyer orders instead, with play money,
    as on the command line. `node_key` is the verifier key (`choir key show`) that receipts must be signed with; without
    it the key that the node was first seen with counts.
    """

    def __init__(self, client: Client | None = None, *, node_key: str | None = None) -> None:
        from choir.doors.sdk.client import Client as Found

        super().__init__(Found() if client is None else client)
        self._own = client is None
        self._given_key = node_key
        self._key: bytes | None = None

    def __repr__(self) -> str:
        who = "this machine's own buyer, play money" if self._given.who.source == "operator" else "a buyer"
        return f"MeshClient({self._given.url}, {who})"

    def __enter__(self) -> MeshClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections opened here; a client that was passed in stays open."""
        if self._machine is not None:
            self._machine.client.close()
        if self._own:
            self._given.close()

    def handle(self, job: str) -> Handle:
        """Get the handle of an earlier order."""
        found = self.client.jobs.get(job)
        return Handle(found.id, found.type, int(found.budget), found.request)

    # Waiting and verifying

    def wait(
        self,
        handle: Handle | str,
        timeout_s: float | None = None,
        *,
        on_change: job_wait.OnChange | None = None,
        stop: threading.Event | None = None,
    ) -> JobOut:
        """Wait until the job is paid or closed."""
        id_ = handle if isinstance(handle, str) else handle.id
        return job_wait.wait_for(self.client, id_, is_over, timeout_s=timeout_s, on_change=on_change, stop=stop)

    def await_and_verify(
        self,
        handle: Handle,
        timeout_s: float | None = None,
        rerun: bool = False,
        *,
        on_change: job_wait.OnChange | None = None,
        stop: threading.Event | None = None,
    ) -> Outcome:
        """Wait for the result and verify it: hashes, verdict, receipt and its signature are checked.

        `rerun` also makes every check of the verdict again in a sandbox of this machine.
        """
        outcome = self._waited(handle, timeout_s, on_change, stop)
        if rerun:
            from choir.doors.mesh import recheck

            recheck.must_agree(self.client, outcome)
        return outcome

    def _waited(
        self, handle: Handle, timeout_s: float | None, on_change: job_wait.OnChange | None, stop: threading.Event | None
    ) -> Outcome:
        """Also wait for a node that becomes unreachable between a job's end and its last response."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
            job = self.wait(handle, left_s, on_change=on_change, stop=stop)
            try:
                with within(None if until_s is None else until_s - time.monotonic()):
                    return self.verified(job, handle)
            except Unavailable:
                if left_s == 0.0 or (stop is not None and stop.is_set()):
                    raise
            time.sleep(_PAUSE_S)

    def verified(self, job: JobOut, handle: Handle | None = None) -> Outcome:
        """The outcome of a closed job; raises `JobFailed` if it has no result."""
        if handle is not None:
            must_be(job, handle)
        attempt = winner_of(job)
        if attempt is None:
            raise failed(job, self._reasons(job))
        judged = self.client.attempts.verdict(attempt.id)
        receipts.check_verdict(judged, job, attempt)
        if judged.verdict.get("passed") is not True:
            raise WrongAnswer(job=job.id, why="it was paid although its verdict is failed")
        receipt = self.client.attempts.receipt(attempt.id)
        receipts.check_receipt(receipt, job, attempt, self.node_key, self._payer(job))
        assert attempt.artifact is not None  # a verdict names it
        part = partial(self.client.jobs.artifact_part, job.id)
        policy = policy_of(self.client)
        data = blobs.whole(part, attempt.artifact, "The artifact", policy.of(BazaarPolicy).artifact_bytes_max)
        return Outcome(
            job=job,
            attempt=attempt,
            data=data,
            artifact=typed(job, data, policy.of(VerificationPolicy)),
            checks=checks_of(judged.verdict),
            verdict=judged.verdict,
            receipt=receipt.value,
        )

    def cancel(self, handle: Handle | str) -> JobOut:
        """Cancel a job. Earlier deliveries are still verified, and paid a share if they pass."""
        return self.client.jobs.cancel(handle if isinstance(handle, str) else handle.id)

    def dispute(
        self, handle: Handle | str, trigger: Trigger | str, statement: str, *, attempt: str | None = None
    ) -> DisputeOut:
        """Dispute the outcome of a job. It takes a deposit, which the loser pays."""
        id_ = handle if isinstance(handle, str) else handle.id
        return self.client.jobs.dispute(id_, trigger, statement, attempt=attempt)

    # What is asked once

    @property
    def node_key(self) -> bytes:
        if self._key is None:
            self._key = node_keys.signing_key(self.client, self._given_key)
        return self._key

    def _payer(self, job: JobOut) -> str:
        """Who must have paid: whoever asks. Somebody else's job can be looked at, not verified as one's own."""
        me = self.client.me.who()
        return job.buyer or "" if me.role == "operator" else me.person or me.owner

    def _reasons(self, job: JobOut) -> list[str]:
        """Why each attempt failed, in words where the verdict has them."""
        found = []
        for attempt in job.attempts:
            words = [in_words(attempt.reason)] if attempt.reason else []
            if attempt.verdict is not None:
                try:
                    judged = self.client.attempts.verdict(attempt.id)
                except NotFound:
                    judged = None
                checks = () if judged is None else checks_of(judged.verdict)
                words = [item.details or in_words(item.reason) for item in checks if not item.passed] or words
            found += [word.rstrip(".") for word in words]
        return found
