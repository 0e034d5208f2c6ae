"""From what was handed in to a verdict that counts: gathers a job's parts, has them verified, concludes.

Guarantees: no transaction is open while something is verified; doing it again after a crash is harmless, because
a verdict counts once. What cannot be verified, because of the order itself or because this node is not able to, is
nobody's failure: the job is called off and the budget goes back; a dispute goes to people.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, attempt_id
from choir.bazaar.attempts.service import Attempts
from choir.bazaar.contracts import HiddenChecks, read_request, read_result
from choir.bazaar.disputes.model import dispute_id
from choir.bazaar.disputes.service import Disputes
from choir.bazaar.environments import claims
from choir.bazaar.jobs.model import DIFF, HIDDEN, REPOSITORY, Check, Job, JobType, Verdict, job_id
from choir.bazaar.jobs.service import Jobs
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.providers.market import Market
from choir.bazaar.sampling import planted
from choir.bazaar.sampling.planted import Planted
from choir.bazaar.trajectories.lines import ToolUse
from choir.bazaar.trajectories.reader import ExpectedTrajectory, Trajectory, check_content, commit_of
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.verification.service import Verifier
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid
from choir.objects.model import TooLargeToGet
from choir.objects.service import Objects
from choir.storage.database import Database, Tx

log = logging.getLogger(__name__)

IsCancelled = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Case:
    """All that a verification needs."""

    order: Order
    delivery: Delivery
    trajectory: ExpectedTrajectory
    planted: Planted | None = None


class Inspection:
    """Verifies attempts and disputes. Calls block for as long as verification takes."""

    def __init__(
        self,
        database: Database,
        objects: Objects,
        jobs: Jobs,
        attempts: Attempts,
        disputes: Disputes,
        market: Market,
        verifier: Callable[[], Verifier],
        folder: Path,
        policy: WorkersPolicy,
    ) -> None:
        self._database = database
        self._objects = objects
        self._jobs = jobs
        self._attempts = attempts
        self._disputes = disputes
        self._verifier = verifier
        self._market = market
        self._folder = folder
        self._policy = policy

    def examine(self, id_: UUID, cancelled: IsCancelled = _never) -> None:
        """See whether an order can be verified against, before anybody works on it."""
        with self._database.unit_of_work() as tx:
            job = self._jobs.to_examine(tx, id_)
        if job is None:
            return
        reason = said = ""
        try:
            with self._folder_for_case() as folder:
                with self._database.unit_of_work() as tx:
                    order, _ = self._order(tx, job, folder)
                verdict = self._verifier().examine(order, cancelled)
            reason = verdict.reason
            said = next((check.details for check in verdict.checks if not check.passed), "")
        except Invalid as error:
            reason, said = error.code, str(error)
        self._database.run(lambda tx: self._jobs.examined(tx, id_, reason, said))

    def give_up_order(self, id_: UUID, reason: str) -> None:
        """This node cannot say whether the order can be verified against: call it off, to nobody's cost."""
        log.warning("an order cannot be examined", extra={"job": job_id(id_), "code": reason})
        self._database.run(lambda tx: self._jobs.examined(tx, id_, reason))

    def verify(self, id_: UUID, cancelled: IsCancelled = _never) -> None:
        """Verify an attempt that was handed in, and let the verdict count. Raises `Cancelled` if it was stopped."""
        found = self._database.run(lambda tx: self._attempts.begin_verifying(tx, id_))
        if found is None:
            return
        try:
            # In a qualification everything is looked at: nothing of it is left to chance.
            verdict = self._judge(*found, rerun=found[0].qualifies is not None, cancelled=cancelled)
        except Invalid as error:
            self.give_up(id_, error.code)
            return
        self._database.run(lambda tx: self._attempts.conclude(tx, id_, verdict))

    def give_up(self, id_: UUID, reason: str) -> None:
        """This attempt cannot be verified: call the job off, to nobody's cost."""
        log.warning("a job cannot be verified", extra={"attempt": attempt_id(id_), "code": reason})
        self._database.run(lambda tx: self._attempts.begin_verifying(tx, id_))
        self._database.run(lambda tx: self._attempts.abandon(tx, id_, reason))

    def reverify(self, id_: UUID, cancelled: IsCancelled = _never) -> None:
        """Run the checks of a disputed attempt again, and let the dispute go on."""
        job, attempt = self._database.run(lambda tx: self._disputes.case(tx, id_))
        try:
            verdict = self._judge(job, attempt, rerun=True, cancelled=cancelled)
        except Invalid as error:
            self.give_up_dispute(id_, error.code)
            return
        self._database.run(lambda tx: self._disputes.reverified(tx, id_, verdict))

    def give_up_dispute(self, id_: UUID, reason: str) -> None:
        """The checks cannot be run again: people must look at it."""
        log.warning("a dispute cannot be decided by machine", extra={"dispute": dispute_id(id_), "code": reason})
        self._database.run(lambda tx: self._disputes.not_reverified(tx, id_, reason))

    def _judge(self, job: Job, attempt: Attempt, *, rerun: bool, cancelled: IsCancelled) -> Verdict:
        with self._folder_for_case() as folder:
            with self._database.unit_of_work() as tx:
                case = self._gather(tx, job, attempt, folder)
            verdict = self._verifier().verify(case.order, case.delivery, cancelled, rerun)
        return self._with_trajectory(case, self._with_planted(case, verdict))

    def _with_planted(self, case: Case, verdict: Verdict) -> Verdict:
        """A review of a diff with planted defects must have found one."""
        if case.planted is None or not verdict.passed:
            return verdict
        check = planted.check(case.delivery.artifact, case.planted, self._verifier().policy)
        return replace(verdict, passed=check.passed, checks=(*verdict.checks, check))

    def _with_trajectory(self, case: Case, verdict: Verdict) -> Verdict:
        """How the work came about must be told whole, in order, and of this job; its signature was looked at before."""
        data = case.delivery.trajectory
        assert data is not None
        try:
            found = check_content(data, case.trajectory, self._policy)
            verdict = _with_layers(verdict, found)
            check = Check("trajectory", passed=True)
        except Invalid as error:
            check = Check("trajectory", passed=False, reason=error.code, details=error.sentence)
        return replace(verdict, passed=verdict.passed and check.passed, checks=(*verdict.checks, check))

    @contextmanager
    def _folder_for_case(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="choir-case-", dir=self._folder) as folder:
            yield Path(folder)

    def _order(self, tx: Tx, job: Job, folder: Path) -> tuple[Order, bytes | None]:
        """What was ordered; and, for a review of the node's own, the defects that were planted in it."""
        policy = self._verifier().policy
        hidden = self._input(tx, job, HIDDEN)
        defects = hidden if job.type is JobType.CODE_REVIEW else None
        order = Order(
            type=job.type,
            request=read_request(job.type, self._objects.get_atom(tx, job.request), policy),
            repository=self._file(tx, job.inputs.get(REPOSITORY), folder / "repository.bundle"),
            diff=self._input(tx, job, DIFF),
            hidden=None if hidden is None or defects else HiddenChecks.from_bytes(hidden, policy),
        )
        return order, defects

    def _gather(self, tx: Tx, job: Job, attempt: Attempt, folder: Path) -> Case:
        policy = self._verifier().policy
        assert attempt.artifact is not None
        assert attempt.claimed is not None
        assert attempt.result is not None
        assert attempt.trajectory is not None
        order, defects = self._order(tx, job, folder)
        delivery = Delivery(
            artifact=self._bytes(tx, attempt.artifact),
            claimed_hash=attempt.claimed,
            result=read_result(job.type, self._objects.get_atom(tx, attempt.result), policy),
            trajectory=self._bytes(tx, attempt.trajectory),
        )
        expected = ExpectedTrajectory(
            job=job_id(job.id),
            provider=self._signer(tx, attempt),
            type=job.type,
            base_commit=commit_of(order.request),
            assigned_us=attempt.assigned_us,
            delivered_us=attempt.delivered_us,
        )
        return Case(order, delivery, expected, None if defects is None else planted.read(defects))

    def _signer(self, tx: Tx, attempt: Attempt) -> bytes:
        """The key that signed the trajectory: its provider may have taken another one since."""
        assert attempt.trajectory is not None
        by = self._market.result_keys(tx, attempt)
        return self._objects.signatures(tx, attempt.trajectory, by)[-1].public

    def _input(self, tx: Tx, job: Job, name: str) -> bytes | None:
        found = job.inputs.get(name)
        return None if found is None else self._bytes(tx, found)

    def _bytes(self, tx: Tx, name: ObjectHash) -> bytes:
        try:
            return self._objects.get(tx, name)
        except TooLargeToGet:
            return b"".join(self._objects.open(tx, name))

    def _file(self, tx: Tx, name: ObjectHash | None, path: Path) -> Path | None:
        if name is None:
            return None
        with path.open("wb") as out:
            for piece in self._objects.open(tx, name):
                out.write(piece)
        return path


def _with_layers(verdict: Verdict, trajectory: Trajectory) -> Verdict:
    """Whether provider and verifier worked on the same layer; a difference is told and is nobody's fault."""
    ours = claims.evidence_of(verdict.evidence)
    if ours is None:
        return verdict
    theirs = [line.result for line in trajectory.lines if isinstance(line, ToolUse) and line.tool == claims.TOOL]
    told = claims.compare(ours, theirs)
    checks = [replace(item, details=told) if item.name == claims.CHECK else item for item in verdict.checks]
    return replace(verdict, checks=tuple(checks))
