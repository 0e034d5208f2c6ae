"""Buying work: order, wait, verify, dispute.

    with Client() as client:
        mesh = MeshClient(client)
        order = mesh.run(["python3", "-c", "print(6*7)"])
        print(mesh.await_and_verify(order).artifact.stdout)

Guarantees: what `await_and_verify` returns was paid for and hashes to what was verified and billed, and the receipt is
signed by the node's key (given, or as first seen: `node_keys`); anything else is an exception that says what it cost.
Waiting goes on across broken connections and restarts of the node. Amounts are milli-satoshi.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import (
    CodeReviewRequest,
    Evidence,
    PatchGenRequest,
    Request,
    ReviewDepth,
    ReviewFocus,
    SandboxRunRequest,
    Terms,
    TextGenRequest,
)
from choir.bazaar.contracts.paths import DISALLOWED, EVERYTHING
from choir.bazaar.disputes.model import Trigger
from choir.bazaar.model import JobType
from choir.bazaar.reasons import in_words
from choir.bazaar.verification.diffs import read_diff
from choir.doors import wire
from choir.doors.sdk import blobs, budgets, bundles, node_keys, receipts, waiting
from choir.doors.sdk.bundles import Bundle
from choir.doors.sdk.calls import new_key
from choir.doors.sdk.hiding import hiding
from choir.doors.sdk.mesh_model import (
    Handle,
    Outcome,
    WrongAnswer,
    checks_of,
    failed,
    is_over,
    must_be,
    typed,
    winner_of,
)
from choir.foundation.canonical import bytes_hash, canonical_hash
from choir.foundation.errors import Invalid, NotFound, Unavailable
from choir.foundation.policy import BazaarPolicy, VerificationPolicy

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_POLICY = VerificationPolicy()
_ARTIFACT_BYTES_MAX = BazaarPolicy().artifact_bytes_max
_TIME_LIMIT_S = _POLICY.time_limit_s
_CPU_S = 60
_TOKENS = 1_000
_MILLI = 1_000
_PAUSE_S = 1.0

Choice = Mapping[str, Any]  # a strategy or criteria, as the HTTP API has them


class MeshClient:
    """A buyer. Threads may share it.

    `node_key` is the verifier key (`choir key show`) that receipts must be signed with; without it the key that the
    node was first seen with counts.
    """

    def __init__(self, client: Client, *, node_key: str | None = None) -> None:
        self.client = client
        self._given_key = node_key
        self._key: bytes | None = None
        self._values: dict[str, int] | None = None

    # Ordering

    def request_patch(
        self,
        repo: Path | str | Bundle,
        title: str,
        body: str = "",
        test_command: str = "python3 -m pytest -q",
        budget: int | None = None,
        *,
        ref: str | None = None,
        dirty: bool = False,
        allowed_paths: Sequence[str] = EVERYTHING,
        disallowed_paths: Sequence[str] = DISALLOWED,
        hidden_checks: Sequence[str] = (),
        hidden_files: Mapping[str, bytes] | None = None,
        hidden_salt: str | None = None,
        whole_suite: bool = False,
        fail_before: bool = True,
        exit_code_is_proof: bool = False,
        files_max: int = _POLICY.units_files,
        time_limit_s: int = _TIME_LIMIT_S,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
    ) -> Handle:
        """Order a change to a local repository that makes the test command pass.

        `hidden_checks` are commands that only the node sees. Who sends the same order again keeps its `key` and its
        `hidden_salt`.
        """
        key = key or new_key()
        hidden = hiding(hidden_checks, hidden_files or {}, hidden_salt)
        terms = self._terms(JobType.PATCH_GEN, files_max * _MILLI, budget, time_limit_s, key, strategy)
        with nullcontext(repo) if isinstance(repo, Bundle) else bundles.bundle(repo, ref=ref, dirty=dirty) as sent:
            request = PatchGenRequest(
                title=title,
                body=body,
                base_commit=sent.commit,
                test_command=test_command,
                terms=terms,
                subdir=sent.subdir,
                allowed_paths=tuple(allowed_paths),
                disallowed_paths=tuple(disallowed_paths),
                evidence=Evidence.EXIT_CODE if exit_code_is_proof else Evidence.REPORT,
                fail_before=fail_before,
                whole_suite=whole_suite,
                files_max=files_max,
                hidden=None if hidden is None else hidden.commitment,
            )
            checked = PatchGenRequest.from_json(request.to_json(), _POLICY)  # refused here, before anything is sent
            inputs: dict[str, bytes | Path] = {"repository": sent.file}
            if hidden is not None:
                inputs["hidden"] = hidden.to_bytes()
            return self.order(JobType.PATCH_GEN, checked, inputs, strategy, criteria)

    def request_review(
        self,
        repo: Path | str | None = None,
        base: str = "HEAD~1",
        head: str = "HEAD",
        *,
        diff: bytes | None = None,
        include: Sequence[str] = (),
        focus: Sequence[str] = ("all",),
        depth: str = "standard",
        instructions: str = "",
        budget: int | None = None,
        time_limit_s: int = _TIME_LIMIT_S,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
    ) -> Handle:
        """Order a review of a diff, or of what changed between two commits of a local repository.

        With a repository the changed files are sent whole beside the diff, and nothing else of it.
        """
        if diff is None:
            with bundles.changes(repo or ".", base, head, include=include) as (made, files):
                return self._review(
                    made.data, files, focus, depth, instructions, budget, time_limit_s, strategy, criteria, key
                )
        return self._review(diff, None, focus, depth, instructions, budget, time_limit_s, strategy, criteria, key)

    def _review(
        self,
        diff: bytes,
        files: Bundle | None,
        focus: Sequence[str],
        depth: str,
        instructions: str,
        budget: int | None,
        time_limit_s: int,
        strategy: Choice | None,
        criteria: Choice | None,
        key: str | None,
    ) -> Handle:
        number = len([item for item in read_diff(diff).files if item.path])
        if not number:
            raise Invalid(what="The diff", why="it names no file")
        request = CodeReviewRequest(
            diff=bytes_hash(diff),
            terms=self._terms(JobType.CODE_REVIEW, number * _MILLI, budget, time_limit_s, key or new_key(), strategy),
            head_commit="" if files is None else files.commit,
            focus=tuple(ReviewFocus(item) for item in focus),
            depth=ReviewDepth(depth),
            instructions=instructions,
        )
        checked = CodeReviewRequest.from_json(request.to_json(), _POLICY)
        inputs: dict[str, bytes | Path] = {"diff": diff}
        if files is not None:
            inputs["repository"] = files.file
        return self.order(JobType.CODE_REVIEW, checked, inputs, strategy, criteria)

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        cpu_s_max: int = _CPU_S,
        memory_bytes_max: int | None = None,
        deterministic: bool = False,
        exit_code: int | None = None,
        budget: int | None = None,
        time_limit_s: int = _TIME_LIMIT_S,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
    ) -> Handle:
        """Order that a command is run. A deterministic one may be run again to check."""
        request = SandboxRunRequest(
            argv=tuple(argv),
            terms=self._terms(
                JobType.SANDBOX_RUN, cpu_s_max * _MILLI, budget, time_limit_s, key or new_key(), strategy
            ),
            cpu_s_max=cpu_s_max,
            memory_bytes_max=memory_bytes_max,
            stdin=stdin,
            environment=tuple(sorted((environment or {}).items())),
            deterministic=deterministic,
            exit_code=exit_code,
        )
        checked = SandboxRunRequest.from_json(request.to_json(), _POLICY)
        return self.order(JobType.SANDBOX_RUN, checked, {}, strategy, criteria)

    def text(
        self,
        prompt: str,
        *,
        max_tokens: int = _TOKENS,
        schema: Mapping[str, Any] | None = None,
        system: str = "",
        budget: int | None = None,
        time_limit_s: int = _TIME_LIMIT_S,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
    ) -> Handle:
        """Order a text. Only its length and shape can be verified, not what it says."""
        request = TextGenRequest(
            prompt=prompt,
            terms=self._terms(JobType.TEXT_GEN, max_tokens, budget, time_limit_s, key or new_key(), strategy),
            max_tokens=max_tokens,
            system=system,
            schema=schema,
        )
        return self.order(
            JobType.TEXT_GEN, TextGenRequest.from_json(request.to_json(), _POLICY), {}, strategy, criteria
        )

    def order(
        self,
        type_: JobType,
        request: Request,
        inputs: Mapping[str, bytes | Path],
        strategy: Choice | None = None,
        criteria: Choice | None = None,
    ) -> Handle:
        """Order what a request says; its budget is held from now on. The same request again is the same job."""
        body = request.to_json()
        sent = {name: blobs.to_send(self.client, data) for name, data in inputs.items()}
        job = self.client.jobs.open(type_, body, inputs=sent, strategy=strategy, criteria=criteria)
        handle = Handle(job.id, type_, request.terms.max_cost_msat, canonical_hash(body))
        must_be(job, handle)
        return handle

    def handle(self, job: str) -> Handle:
        """The handle of an order that was made before."""
        found = self.client.jobs.get(job)
        return Handle(found.id, found.type, int(found.budget), found.request)

    # Waiting and verifying

    def wait(
        self,
        handle: Handle | str,
        timeout_s: float | None = None,
        *,
        on_change: waiting.OnChange | None = None,
        stop: threading.Event | None = None,
    ) -> wire.JobOut:
        """The job once it is paid, or over without."""
        id_ = handle if isinstance(handle, str) else handle.id
        return waiting.wait_for(self.client, id_, is_over, timeout_s=timeout_s, on_change=on_change, stop=stop)

    def await_and_verify(
        self,
        handle: Handle,
        timeout_s: float | None = None,
        rerun: bool = False,
        *,
        on_change: waiting.OnChange | None = None,
        stop: threading.Event | None = None,
    ) -> Outcome:
        """Wait for the result and believe nothing of it: hashes, verdict, receipt and its signature are checked.

        `rerun` also makes every check of the verdict again in a sandbox of this machine.
        """
        outcome = self._waited(handle, timeout_s, on_change, stop)
        if rerun:
            from choir.doors.sdk import rechecking

            rechecking.must_agree(self.client, outcome)
        return outcome

    def _waited(
        self, handle: Handle, timeout_s: float | None, on_change: waiting.OnChange | None, stop: threading.Event | None
    ) -> Outcome:
        """A node that goes away between the end of a job and its last answer is waited for too."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
            job = self.wait(handle, left_s, on_change=on_change, stop=stop)
            try:
                return self.verified(job, handle)
            except Unavailable:
                if left_s == 0.0 or (stop is not None and stop.is_set()):
                    raise
            time.sleep(_PAUSE_S)

    def verified(self, job: wire.JobOut, handle: Handle | None = None) -> Outcome:
        """What a job that is over came to; raises `JobFailed` if it came to nothing."""
        if handle is not None:
            must_be(job, handle)
        attempt = winner_of(job)
        if attempt is None:
            raise failed(job, self._reasons(job))
        judged = self.client.attempts.verdict(attempt.id)
        receipts.check_verdict(judged, job, attempt)
        if judged.verdict.get("passed") is not True:
            raise WrongAnswer(job=job.id, why="it was paid although its verdict is no")
        receipt = self.client.attempts.receipt(attempt.id)
        receipts.check_receipt(receipt, job, attempt, self.node_key, self._payer(job))
        assert attempt.artifact is not None  # a verdict names it
        part = partial(self.client.jobs.artifact_part, job.id)
        data = blobs.whole(part, attempt.artifact, "The artifact", _ARTIFACT_BYTES_MAX)
        return Outcome(
            job=job,
            attempt=attempt,
            data=data,
            artifact=typed(job, data),
            checks=checks_of(judged.verdict),
            verdict=judged.verdict,
            receipt=receipt.value,
        )

    def cancel(self, handle: Handle | str) -> wire.JobOut:
        """Call it off; what was handed in before is still checked, and paid a part if it passes."""
        return self.client.jobs.cancel(handle if isinstance(handle, str) else handle.id)

    def dispute(
        self, handle: Handle | str, trigger: Trigger | str, statement: str, *, attempt: str | None = None
    ) -> wire.DisputeOut:
        """Doubt what was decided. It takes a deposit, which the loser pays."""
        id_ = handle if isinstance(handle, str) else handle.id
        return self.client.jobs.dispute(id_, trigger, statement, attempt=attempt)

    # What is asked once

    @property
    def node_key(self) -> bytes:
        if self._key is None:
            self._key = node_keys.signing_key(self.client, self._given_key)
        return self._key

    def default_budget(self, type_: JobType, units_milli: int, strategy: Choice | None = None) -> int:
        """What such a job may cost by the node's price table."""
        if self._values is None:
            self._values = {item.name: item.value for item in self.client.policy().values}
        racing = int((strategy or {}).get("count", 2)) if (strategy or {}).get("kind") == "race" else 1
        return budgets.default_budget(type_, units_milli, self._values, racing=racing)

    def _terms(
        self,
        type_: JobType,
        units_milli: int,
        budget: int | None,
        time_limit_s: int,
        key: str,
        strategy: Choice | None,
    ) -> Terms:
        most = self.default_budget(type_, units_milli, strategy) if budget is None else budget
        return Terms(most, time_limit_s, key)

    def _payer(self, job: wire.JobOut) -> str:
        """Who must have paid: whoever asks. Somebody else's job can be looked at, not verified as one's own."""
        me = self.client.me.who()
        return job.buyer or "" if me.role == "operator" else me.person or me.owner

    def _reasons(self, job: wire.JobOut) -> list[str]:
        """Why each try failed, in words where the verdict has them."""
        found = []
        for attempt in job.attempts:
            words = [in_words(attempt.reason)] if attempt.reason else []
            if attempt.verdict is not None:
                try:
                    judged = self.client.attempts.verdict(attempt.id)
                except NotFound:
                    judged = None
                checks = () if judged is None else checks_of(judged.verdict)
                words = [item.details or item.reason for item in checks if not item.passed] or words
            found += [word.rstrip(".") for word in words]
        return found
