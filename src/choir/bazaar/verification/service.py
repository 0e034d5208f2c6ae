"""The verifier: an order and a delivery in, a verdict out.

Guarantees: no database, no network, no state but trees that can be made again. A verdict is about the delivery; what
is wrong with the order or the machine is an error, and nobody is blamed for it. Checks, sentences and evidence carry no
piece of the artifact and no output of the tested code.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from choir.bazaar.contracts import REQUESTS as REQUEST_TYPES
from choir.bazaar.contracts import RESULTS as RESULT_TYPES
from choir.bazaar.contracts import Evidence, HiddenChecks, PatchGenRequest, RepoIndexRequest, ResultStatus
from choir.bazaar.environments import claims
from choir.bazaar.environments.model import Layer, NoEnvironments
from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.model import JobType, Verdict
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import indexes, indexing, reviews, runs, texts, toolchain
from choir.bazaar.verification.bases import Bases, BaseTree
from choir.bazaar.verification.expectations import judge
from choir.bazaar.verification.indexing import Embedder, Indexer, Survey
from choir.bazaar.verification.levels import LACKING, best_level
from choir.bazaar.verification.model import Delivery, Failed, Findings, Order, Runs
from choir.bazaar.verification.patches import PatchCheck
from choir.bazaar.verification.test_runs import Bench
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import Entropy, SystemEntropy
from choir.foundation.errors import Invalid
from choir.sandbox.model import Mount


def _never() -> bool:
    return False


class BadOrder(Invalid):
    """The order cannot be verified against, whatever is delivered."""

    code = "bazaar.bad_order"
    sentence = "The order cannot be verified: {why}."


class Verifier:
    """Verifies deliveries. One per process; safe to call from many threads."""

    def __init__(
        self,
        sandboxes: Runs,
        policy: VerificationPolicy | None = None,
        folder: Path | None = None,
        entropy: Entropy | None = None,
        embedder: Embedder | None = None,
        environments: Environments | None = None,
    ) -> None:
        self.policy = policy or VerificationPolicy()
        self._runs = sandboxes
        self._entropy = entropy or SystemEntropy()
        self._folder = Path(tempfile.mkdtemp(prefix="choir-verifier-", dir=folder))
        self._bases = Bases(self._folder, self.policy.bases_kept)
        self._lock = threading.Lock()
        self._tools: Mount | None = None
        self._indexer: Mount | None = None
        self._embedder = embedder  # to check embeddings of the same model with
        self._environments = environments

    def close(self) -> None:
        """Remove what was kept."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def verify(
        self, order: Order, delivery: Delivery, cancelled: Callable[[], bool] = _never, rerun: bool = False
    ) -> Verdict:
        """Check a delivery. `rerun` runs a deterministic command again for certain, as a dispute needs it."""
        _check_order(order)
        findings = Findings()
        try:
            self._claims(order, delivery, findings)
            if order.type is JobType.PATCH_GEN:
                self._patch(order, delivery, findings, cancelled)
            elif order.type is JobType.CODE_REVIEW:
                reviews.verify(order, delivery, self.policy, findings)
            elif order.type is JobType.SANDBOX_RUN:
                runs.verify(order, delivery, self._runs, self.policy, self._entropy, findings, cancelled, rerun)
            elif order.type is JobType.REPO_INDEX:
                self._index(order, delivery, findings, cancelled, every_file=rerun)
            else:
                texts.verify(order, delivery, self.policy, findings)
        except Failed:
            pass
        return findings.verdict()

    def examine(self, order: Order, cancelled: Callable[[], bool] = _never) -> Verdict:
        """Whether an order can be verified against at all, before anyone works on it. Reasons begin with `order.`."""
        _check_order(order)
        findings = Findings()
        if order.type is JobType.CODE_REVIEW:
            findings.units_milli = 1000 * reviews.units(reviews.files_of(order, self.policy))
        elif order.type is JobType.REPO_INDEX:
            with self._surveyed(order, cancelled) as found:
                findings.units_milli = indexes.tokens_of(found)
                if not any(file.is_parsed for file in found.files):
                    said = "The commit has no file in a language that was ordered."
                    findings.add("files", "order.nothing_to_index", said)
        elif order.type is JobType.PATCH_GEN:
            request = order.request
            assert isinstance(request, PatchGenRequest)
            assert order.repository is not None
            with (
                self._bases.use(self._runs, order.repository, request.base_commit, cancelled) as base,
                self._layer(request, base, findings, cancelled) as layer,
            ):
                bench = self._bench(cancelled, request, layer)
                _examine_patch(request, base, bench, findings)
                _examine_level(order, findings)
                _note_tier(findings, bench)
        findings.add("order")
        return findings.verdict()

    def _claims(self, order: Order, delivery: Delivery, findings: Findings) -> None:
        """What a provider says of its own delivery must at least fit the delivery."""
        if not isinstance(delivery.result, RESULT_TYPES[order.type]):
            raise BadOrder(why="the result is of another job type")
        wrong = bytes_hash(delivery.artifact) != delivery.claimed_hash
        fault = ("artifact.hash_mismatch", "The artifact does not match its claimed hash.")
        findings.need("hash", *(fault if wrong else ("", "")), evidence={"artifact": bytes_hash(delivery.artifact)})
        failed = delivery.result.status is not ResultStatus.SUCCESS
        fault = ("result.not_success", "The provider did not report success; partial work is not paid.")
        findings.need("status", *(fault if failed else ("", "")))

    def _patch(self, order: Order, delivery: Delivery, findings: Findings, cancelled: Callable[[], bool]) -> None:
        assert isinstance(order.request, PatchGenRequest)
        assert order.repository is not None
        with (
            self._bases.use(self._runs, order.repository, order.request.base_commit, cancelled) as base,
            self._layer(order.request, base, findings, cancelled) as layer,
        ):
            bench = self._bench(cancelled, order.request, layer)
            try:
                PatchCheck(order, delivery, base, bench, findings).run()
            finally:
                _note_tier(findings, bench)

    def _index(
        self,
        order: Order,
        delivery: Delivery,
        findings: Findings,
        cancelled: Callable[[], bool],
        *,
        every_file: bool,
    ) -> None:
        indexer = Indexer(self._runs, self._parsers(), self.policy, cancelled)
        with self._surveyed(order, cancelled) as found:
            indexes.verify(
                order, delivery, found, indexer, self._entropy, findings, every_file=every_file, embedder=self._embedder
            )

    def _parsers(self) -> Mount:
        with self._lock:
            if self._indexer is None:
                self._indexer = indexing.build(self._folder / "indexer")
            return self._indexer

    @contextmanager
    def _surveyed(self, order: Order, cancelled: Callable[[], bool]) -> Iterator[Survey]:
        """The files of the commit that is to be indexed."""
        request = order.request
        assert isinstance(request, RepoIndexRequest)
        assert order.repository is not None
        with self._bases.use(self._runs, order.repository, request.base_commit, cancelled) as base:
            yield indexing.survey(base.tree, request.languages, self.policy)

    @contextmanager
    def _layer(
        self, request: PatchGenRequest, base: BaseTree, findings: Findings, cancelled: Callable[[], bool]
    ) -> Iterator[Layer | None]:
        """The order's environment, set up on the buyer's own tree; its layer is named on the verdict."""
        if request.environment is None:
            yield None
            return
        if self._environments is None:
            raise NoEnvironments
        with self._environments.use(request.environment, base.tree, cancelled) as layer:
            findings.add(claims.CHECK, evidence=layer.evidence())
            yield layer

    def _bench(self, cancelled: Callable[[], bool], request: PatchGenRequest, layer: Layer | None) -> Bench:
        writable, junit = request.writable_paths, request.junit_report
        with self._lock:
            if self._tools is None:
                self._tools = toolchain.build(self._folder / "tools")
        return Bench(
            self._runs, self._tools, self.policy, self._entropy, cancelled, writable, self._parsers, junit, layer
        )


def _check_order(order: Order) -> None:
    """That the order's parts belong together."""
    request = order.request
    if not isinstance(request, REQUEST_TYPES[order.type]):
        raise BadOrder(why="its request is of another job type")
    if order.type in (JobType.PATCH_GEN, JobType.REPO_INDEX) and order.repository is None:
        raise BadOrder(why="there is no bundle of the repository")
    committed = request.hidden if isinstance(request, PatchGenRequest) else None
    revealed = order.hidden.commitment if isinstance(order.hidden, HiddenChecks) else None
    if committed != revealed:
        raise BadOrder(why="the hidden checks do not match the commitment in the request")


def _examine_patch(request: PatchGenRequest, base: BaseTree, bench: Bench, findings: Findings) -> None:
    text = "The tests pass without the patch, so they prove nothing."
    if request.evidence is Evidence.EXIT_CODE:
        passed = base.plain(bench, request.test_command, request.subdir).ended_well
    else:
        before = base.before(bench, request.test_command, request.subdir)
        if before.expected.is_empty:
            findings.add("buyer's tests", "order.no_tests", "The test command finds no test in the buyer's tree.")
        passed = not judge(before.expected, before.report)[0]
    if request.fail_before and passed:
        findings.add("fails before", "order.tests_passed_before", text)


def _examine_level(order: Order, findings: Findings) -> None:
    """Whether the level that was ordered can be reached by what the order has."""
    assert isinstance(order.request, PatchGenRequest)
    possible = best_level(order.request, order.hidden)
    if possible < order.request.level:
        text = f"The order's checks can show {possible.value} at most: {LACKING[order.request.level]}."
        findings.add("level", "order.level_unreachable", text)


def _note_tier(findings: Findings, bench: Bench) -> None:
    if bench.seen:
        findings.tier = min(result.tier for result in bench.seen).label
