"""What can be ordered, as a buyer says it: a patch, a review, a run, a text, an index.

Guarantees: an order that can never be accepted is refused here, before anything is sent or held; the same key and
content are one job, however often they are sent.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import (
    AgentTool,
    CodeReviewRequest,
    Environment,
    Evidence,
    HiddenCheck,
    IndexLanguage,
    OutsideCheck,
    PatchGenRequest,
    RepoIndexRequest,
    Request,
    ReviewDepth,
    ReviewFocus,
    SandboxRunRequest,
    SecondReview,
    Terms,
    TextGenRequest,
)
from choir.bazaar.contracts.index_format import FILE_BYTES_MAX
from choir.bazaar.contracts.indexes import ALL_LANGUAGES
from choir.bazaar.contracts.paths import DISALLOWED, EVERYTHING
from choir.bazaar.jobs.model import JobType, Level
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.settlement import extras
from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.verification.indexing import language_of
from choir.doors.mesh import budgets, bundles, machine_buyer
from choir.doors.mesh.bundles import Bundle
from choir.doors.mesh.hidden import Expecting, hiding, outside
from choir.doors.mesh.machine_buyer import MachineBuyer
from choir.doors.mesh.model import Handle, must_be
from choir.doors.sdk import blobs
from choir.doors.sdk.calls import key_or_new
from choir.doors.sdk.policies import policy_of
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash
from choir.foundation.errors import Invalid
from choir.foundation.policy import describe
from choir.sandbox.model import Tier

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

_CPU_S = 60
_TOKENS = 1_000
_MILLI = 1_000
_BYTES_PER_TOKEN = 2  # of source text at least, by the measure that texts are paid by

Choice = Mapping[str, Any]  # a strategy or criteria, as the HTTP API has them


def level_of(text: Level | str) -> Level:
    """A level by its name."""
    try:
        return Level(text.upper())
    except ValueError:
        raise Invalid(what=f"The level '{text[:20]}'", why=f"there are {', '.join(Level)}") from None


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
        level: Level | str = Level.V1,
        checks: Sequence[OutsideCheck | Expecting] = (),
        verification_commands: Sequence[str] = (),
        writable_paths: Sequence[str] = (),
        mutation: bool = False,
        mutation_floor_bps: int = 0,
        hidden_checks: Sequence[str | HiddenCheck | Expecting] = (),
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
        environment: Environment | None = None,
        skill: str | None = None,
        second_review: str = "",
    ) -> Handle:
        """Order a change to a local repository that makes the test command pass.

        `hidden_checks` are commands that only the node sees, `checks` those that everybody may: each alone, or with all
        that it must print, of which only the hash is sent. `verification_commands` must exit with code 0. `level` is
        the least that the verdict must have. Levels V3 and V4, `whole_suite` and `mutation` cost extra. Who sends the
        same order again keeps its `key` and its `hidden_salt`. What `criteria` do not name of isolation and success
        rate is asked for by `default_criteria`. `public` lets everybody read the order and what comes of it.
        `environment` is what the tests need. `skill` names a skill that the worker gets. `second_review`
        ("best_effort" or "required"): somebody independent reviews the patch before it is paid, for which money is held
        beside the budget.
        `allowed_tools` (read, edit, shell) and `max_context_tokens` bind an agent that works on it; a worker that
        cannot keep to them gives the order back.
        """
        key = key_or_new(key)
        files_max = self.limits.units_files if files_max is None else files_max
        hidden = hiding(hidden_checks, hidden_files or {}, hidden_salt)
        level = level_of(level)
        mutation = mutation or mutation_floor_bps > 0
        more = self.extras_price(level, whole_suite=whole_suite, mutation=mutation)
        terms = self._terms(JobType.PATCH_GEN, files_max * _MILLI, budget, time_limit_s, key, strategy, more)
        terms = self._with_extras(terms, skill, second_review)
        with self._bundled(repo, ref, dirty=dirty) as sent:
            request = PatchGenRequest(
                title=title,
                body=body,
                base_commit=sent.commit,
                test_command=test_command,
                terms=terms,
                repo_url=sent.origin,
                subdir=sent.subdir,
                allowed_paths=tuple(allowed_paths),
                disallowed_paths=tuple(disallowed_paths),
                evidence=Evidence.EXIT_CODE if exit_code_is_proof else Evidence.REPORT,
                fail_before=fail_before,
                whole_suite=whole_suite,
                files_max=files_max,
                hidden=None if hidden is None else hidden.commitment,
                level=level,
                checks=outside(checks),
                verification_commands=tuple(verification_commands),
                writable_paths=tuple(writable_paths),
                mutation=mutation,
                mutation_floor_bps=mutation_floor_bps,
                environment=environment,
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
        repo: Path | str | Bundle | None = None,
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
        skill: str | None = None,
        second_review: str = "",
    ) -> Handle:
        """Order a review of a diff, or of what changed between two commits of a local repository.

        With a repository the changed files are sent whole beside the diff, and nothing else of it. A bundle of them
        can be given with its diff.

        `second_review`: somebody else, independent of the first reviewer, reviews the same diff and is paid apart.
        """

        def ordered(data: bytes, files: Bundle | None) -> Handle:
            return self._review(
                data, files, focus, depth, instructions, budget, time_limit_s, strategy, criteria, key, public,
                skill, second_review,
            )  # fmt: skip

        if isinstance(repo, Bundle):
            if diff is None:
                raise Invalid(what="The order", why="a bundle of changed files needs its diff")
            return ordered(diff, repo)
        if diff is None:
            most = self.limits.review_diff_bytes_max
            with bundles.changes(repo or ".", base, head, include=include, bytes_max=most) as (made, files):
                return ordered(made.data, files)
        return ordered(diff, None)

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
        skill: str | None,
        second_review: str,
    ) -> Handle:
        number = len([item for item in read_diff(diff).files if item.path])
        if not number:
            raise Invalid(what="The diff", why="it names no file")
        terms = self._terms(JobType.CODE_REVIEW, number * _MILLI, budget, time_limit_s, key_or_new(key), strategy)
        request = CodeReviewRequest(
            diff=bytes_hash(diff),
            terms=self._with_extras(terms, skill, second_review),
            repo_url="" if files is None else files.origin,
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

    def request_index(
        self,
        repo: Path | str | Bundle,
        *,
        languages: Sequence[str] = (),
        embeddings: bool = False,
        previous: str | None = None,
        ref: str | None = None,
        dirty: bool = False,
        include: Sequence[str] = (),
        budget: int | None = None,
        time_limit_s: int | None = None,
        strategy: Choice | None = None,
        criteria: Choice | None = None,
        key: str | None = None,
        public: bool = False,
    ) -> Handle:
        """Order an index of what a repository's files define and use.

        `previous` is the hash of an index that was bought here before: unchanged files are not parsed again.
        """
        key = key_or_new(key)
        wanted = tuple(IndexLanguage(item) for item in sorted(set(languages))) or ALL_LANGUAGES
        with self._bundled(repo, ref, dirty=dirty, include=include) as sent:
            request = RepoIndexRequest(
                base_commit=sent.commit,
                terms=self._terms(
                    JobType.REPO_INDEX, index_units_milli(sent, wanted), budget, time_limit_s, key, strategy
                ),
                repo_url=sent.origin,
                languages=wanted,
                embeddings=embeddings,
                previous=None if previous is None else ObjectHash(previous),
            )
            checked = RepoIndexRequest.from_json(request.to_json(), self.limits)
            inputs: dict[str, bytes | Path] = {"repository": sent.file}
            return self.order(JobType.REPO_INDEX, checked, inputs, strategy, criteria, public=public)

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
        skill: str | None = None,
    ) -> Handle:
        """Order a text. Only its length and shape are verified, not its content."""
        max_tokens = min(_TOKENS, self.limits.text_tokens_max) if max_tokens is None else max_tokens
        request = TextGenRequest(
            prompt=prompt,
            terms=self._with_extras(
                self._terms(JobType.TEXT_GEN, max_tokens, budget, time_limit_s, key_or_new(key), strategy), skill, ""
            ),
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
            self._machine.cover(request.terms.max_cost_msat + self._held_further(type_, request, strategy))
        job = client.jobs.open(type_, body, inputs=sent, strategy=strategy, criteria=criteria, public=public)
        handle = Handle(job.id, type_, request.terms.max_cost_msat, canonical_hash(body))
        must_be(job, handle)
        return handle

    def second_reviews_held(self, type_: JobType, units_milli: int, budget: int, strategy: Choice | None = None) -> int:
        """What is held beside the budget for second reviews: one for each try that there may be."""
        values = self._policy()
        tries = int((strategy or {}).get("attempts", values["bazaar.attempts_max"]))
        if type_ is JobType.CODE_REVIEW:
            return tries * budget
        base, unit, cap = (values[f"providers.code_review_{name}"] for name in ("base", "unit", "cap"))
        return tries * min(base + unit * units_milli // _MILLI, cap)

    def _held_further(self, type_: JobType, request: Request, strategy: Choice | None) -> int:
        if not request.terms.second_review:
            return 0
        files = request.files_max if isinstance(request, PatchGenRequest) else 1
        return self.second_reviews_held(type_, files * _MILLI, request.terms.max_cost_msat, strategy)

    def _with_extras(self, terms: Terms, skill: str | None, second_review: str) -> Terms:
        """Terms with a skill, by its id or name, and a second review."""
        known = skill is None or skill.startswith("skill_")
        name = (skill or "") if known else self.client.skills.get(skill or "").id
        if second_review not in set(SecondReview):
            raise Invalid(what="The second review", why="it is best_effort or required")
        return replace(terms, skill=name, second_review=SecondReview(second_review))

    @property
    def limits(self) -> VerificationPolicy:
        """What the node reads of a request, and counts if nothing is said."""
        return policy_of(self.client).of(VerificationPolicy)

    def _bundled(
        self, repo: Path | str | Bundle, ref: str | None, *, dirty: bool, include: Sequence[str] = ()
    ) -> AbstractContextManager[Bundle]:
        if isinstance(repo, Bundle):
            return nullcontext(repo)
        most = policy_of(self.client).of(BazaarPolicy).inputs_bytes_max
        return bundles.bundle(repo, ref=ref, dirty=dirty, include=include, bytes_max=most)

    def extras_price(self, level: Level, *, whole_suite: bool = False, mutation: bool = False) -> int:
        """What stronger checks cost on top of a patch, in milli-satoshi."""
        policy = policy_of(self.client).of(BazaarPolicy)
        return sum(amount for _, amount in extras.named(level, policy, whole_suite=whole_suite, mutation=mutation))

    def default_budget(self, type_: JobType, units_milli: int, strategy: Choice | None = None, extras: int = 0) -> int:
        """The default budget of such a job, from the node's price table, with room for the price of its extras."""
        racing = int((strategy or {}).get("count", 2)) if (strategy or {}).get("kind") == "race" else 1
        return budgets.default_budget(type_, units_milli, self._policy(), racing=racing, extras=extras)

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
        more: int = 0,
    ) -> Terms:
        most = self.default_budget(type_, units_milli, strategy, more) if budget is None else budget
        return Terms(most, self.limits.time_limit_s if time_limit_s is None else time_limit_s, key)


def index_units_milli(sent: Bundle, languages: Sequence[str]) -> int:
    """How much an index may cost at most, in thousandths of its unit: a guess from the sizes of the files."""
    sizes = zip(sent.files, sent.sizes, strict=False)
    known = [size for path, size in sizes if size <= FILE_BYTES_MAX and (language_of(path) or ("",))[0] in languages]
    return max(_MILLI, sum(known) // _BYTES_PER_TOKEN)
