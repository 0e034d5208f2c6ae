"""What can be ordered, as a buyer says it: a patch, a review, a run, a text.

Guarantees: an order that can never be accepted is refused here, before anything is sent or held; the same key and
content are one job, however often they are sent.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import (
    AgentTool,
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
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.verification.diffs import read_diff
from choir.doors.mesh import budgets, bundles, machine_buyer
from choir.doors.mesh.bundles import Bundle
from choir.doors.mesh.hidden import hiding
from choir.doors.mesh.machine_buyer import MachineBuyer
from choir.doors.mesh.model import Handle, must_be
from choir.doors.sdk import blobs
from choir.doors.sdk.calls import key_or_new
from choir.doors.sdk.policies import policy_of
from choir.foundation.canonical import bytes_hash, canonical_hash
from choir.foundation.errors import Invalid
from choir.foundation.policy import describe
from choir.sandbox.model import Tier

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_CPU_S = 60
_TOKENS = 1_000
_MILLI = 1_000

Choice = Mapping[str, Any]  # a strategy or criteria, as the HTTP API has them


class Orders:
    """A buyer who orders. Threads may share it."""

    def __init__(self, client: Client) -> None:
        self._given = client
        self._machine: MachineBuyer | None = None
        self._lock = threading.Lock()
        self._values: dict[str, int] | None = None

    @property
    def client(self) -> Client:
        """Who orders. An operator's token that was found here, and not given, stands for this machine's own buyer."""
        if self._given.who.source != "operator":
            return self._given
        with self._lock:
            if self._machine is None:
                self._machine = machine_buyer.at(self._given)
            return self._machine.client

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
        files_max: int | None = None,
        allowed_tools: Sequence[str] = (),
        max_context_tokens: int = 0,
        time_limit_s: int | None = None,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
        public: bool = False,
    ) -> Handle:
        """Order a change to a local repository that makes the test command pass.

        `hidden_checks` are commands that only the node sees. Who sends the same order again keeps its `key` and its
        `hidden_salt`. What `criteria` do not name of isolation and success rate is asked for by `default_criteria`.
        `public` lets everybody read the order and what comes of it. `allowed_tools` (read, edit, shell) and
        `max_context_tokens` bind an agent that works on it; a worker that cannot keep to them gives the order back.
        """
        key = key_or_new(key)
        files_max = self.limits.units_files if files_max is None else files_max
        hidden = hiding(hidden_checks, hidden_files or {}, hidden_salt)
        terms = self._terms(JobType.PATCH_GEN, files_max * _MILLI, budget, time_limit_s, key, strategy)
        with self._bundled(repo, ref, dirty=dirty) as sent:
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
                allowed_tools=tuple(AgentTool(tool) for tool in allowed_tools),
                max_context_tokens=max_context_tokens,
            )
            checked = PatchGenRequest.from_json(request.to_json(), self.limits)  # refused here, before anything is sent
            inputs: dict[str, bytes | Path] = {"repository": sent.file}
            if hidden is not None:
                inputs["hidden"] = hidden.to_bytes()
            asked = self.default_criteria() | dict(criteria or {})
            return self.order(JobType.PATCH_GEN, checked, inputs, strategy, asked, public=public)

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
        time_limit_s: int | None = None,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
        public: bool = False,
    ) -> Handle:
        """Order a review of a diff, or of what changed between two commits of a local repository.

        With a repository the changed files are sent whole beside the diff, and nothing else of it.
        """
        if diff is None:
            most = self.limits.review_diff_bytes_max
            with bundles.changes(repo or ".", base, head, include=include, bytes_max=most) as (made, files):
                return self._review(
                    made.data, files, focus, depth, instructions, budget, time_limit_s, strategy, criteria, key, public
                )
        return self._review(
            diff, None, focus, depth, instructions, budget, time_limit_s, strategy, criteria, key, public
        )

    def _review(
        self,
        diff: bytes,
        files: Bundle | None,
        focus: Sequence[str],
        depth: str,
        instructions: str,
        budget: int | None,
        time_limit_s: int | None,
        strategy: Choice | None,
        criteria: Choice | None,
        key: str | None,
        public: bool,
    ) -> Handle:
        number = len([item for item in read_diff(diff).files if item.path])
        if not number:
            raise Invalid(what="The diff", why="it names no file")
        request = CodeReviewRequest(
            diff=bytes_hash(diff),
            terms=self._terms(JobType.CODE_REVIEW, number * _MILLI, budget, time_limit_s, key_or_new(key), strategy),
            head_commit="" if files is None else files.commit,
            focus=tuple(ReviewFocus(item) for item in focus),
            depth=ReviewDepth(depth),
            instructions=instructions,
        )
        checked = CodeReviewRequest.from_json(request.to_json(), self.limits)
        inputs: dict[str, bytes | Path] = {"diff": diff}
        if files is not None:
            inputs["repository"] = files.file
        return self.order(JobType.CODE_REVIEW, checked, inputs, strategy, criteria, public=public)

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        environment: Mapping[str, str] | None = None,
        cpu_s_max: int | None = None,
        memory_bytes_max: int | None = None,
        deterministic: bool = False,
        exit_code: int | None = None,
        budget: int | None = None,
        time_limit_s: int | None = None,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
        public: bool = False,
    ) -> Handle:
        """Order a command to be run. `deterministic`: output is reproducible; verifiers may re-run it."""
        cpu_s_max = min(_CPU_S, self.limits.run_cpu_s_max) if cpu_s_max is None else cpu_s_max
        request = SandboxRunRequest(
            argv=tuple(argv),
            terms=self._terms(JobType.SANDBOX_RUN, cpu_s_max * _MILLI, budget, time_limit_s, key_or_new(key), strategy),
            cpu_s_max=cpu_s_max,
            memory_bytes_max=memory_bytes_max,
            stdin=stdin,
            environment=tuple(sorted((environment or {}).items())),
            deterministic=deterministic,
            exit_code=exit_code,
        )
        checked = SandboxRunRequest.from_json(request.to_json(), self.limits)
        return self.order(JobType.SANDBOX_RUN, checked, {}, strategy, criteria, public=public)

    def text(
        self,
        prompt: str,
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        system: str = "",
        budget: int | None = None,
        time_limit_s: int | None = None,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
        public: bool = False,
    ) -> Handle:
        """Order a text. Only its length and shape are verified, not its content."""
        max_tokens = min(_TOKENS, self.limits.text_tokens_max) if max_tokens is None else max_tokens
        request = TextGenRequest(
            prompt=prompt,
            terms=self._terms(JobType.TEXT_GEN, max_tokens, budget, time_limit_s, key_or_new(key), strategy),
            max_tokens=max_tokens,
            system=system,
            schema=schema,
        )
        return self.order(
            JobType.TEXT_GEN,
            TextGenRequest.from_json(request.to_json(), self.limits),
            {},
            strategy,
            criteria,
            public=public,
        )

    def order(
        self,
        type_: JobType,
        request: Request,
        inputs: Mapping[str, bytes | Path],
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        *,
        public: bool = False,
    ) -> Handle:
        """Place an order; its budget is held. The same request again is the same job."""
        body = request.to_json()
        client = self.client
        sent = {name: blobs.to_send(client, data) for name, data in inputs.items()}
        if self._machine is not None:
            self._machine.cover(request.terms.max_cost_msat)
        job = client.jobs.open(type_, body, inputs=sent, strategy=strategy, criteria=criteria, public=public)
        handle = Handle(job.id, type_, request.terms.max_cost_msat, canonical_hash(body))
        must_be(job, handle)
        return handle

    @property
    def limits(self) -> VerificationPolicy:
        """What the node reads of a request, and counts if nothing is said."""
        return policy_of(self.client).of(VerificationPolicy)

    def _bundled(self, repo: Path | str | Bundle, ref: str | None, *, dirty: bool) -> AbstractContextManager[Bundle]:
        if isinstance(repo, Bundle):
            return nullcontext(repo)
        return bundles.bundle(
            repo, ref=ref, dirty=dirty, bytes_max=policy_of(self.client).of(BazaarPolicy).inputs_bytes_max
        )

    def default_budget(self, type_: JobType, units_milli: int, strategy: Choice | None = None) -> int:
        """The default budget of such a job, from the node's price table."""
        racing = int((strategy or {}).get("count", 2)) if (strategy or {}).get("kind") == "race" else 1
        return budgets.default_budget(type_, units_milli, self._policy(), racing=racing)

    def default_criteria(self) -> dict[str, Any]:
        """What an order of a patch asks of providers if its buyer says nothing, by the node's policy."""
        values = self._policy()
        least = values.get("providers.patch_success_bps_min", 0)
        isolation = Tier(values.get("providers.isolation_expected", Tier.BUBBLEWRAP)).label
        return {"min_isolation": isolation} | ({"min_success_bps": least} if least else {})

    def _policy(self) -> dict[str, int]:
        if self._values is None:
            self._values = {item.name: item.value for item in describe(policy_of(self.client))}
        return self._values

    def _terms(
        self,
        type_: JobType,
        units_milli: int,
        budget: int | None,
        time_limit_s: int | None,
        key: str,
        strategy: Choice | None,
    ) -> Terms:
        most = self.default_budget(type_, units_milli, strategy) if budget is None else budget
        return Terms(most, self.limits.time_limit_s if time_limit_s is None else time_limit_s, key)
