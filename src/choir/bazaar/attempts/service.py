"""The provider's side and the verifier's: taking work, handing it in, and what a verdict does.

Guarantees: only the provider that was asked can start, hand in or give back; what comes after an attempt has
ended is refused; a verdict counts once; nobody is paid without a passing one, and nobody who has one goes unpaid.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import AT_WORK, Attempt, AttemptOver, AttemptState, UnknownAttempt, attempt_id
from choir.bazaar.contracts import SecondReview, read_result
from choir.bazaar.jobs import rules, store
from choir.bazaar.jobs.lifecycle import FOLLOW, VERIFY, JobLifecycle, PaymentDue
from choir.bazaar.jobs.model import DIFF, SOURCE, Check, Job, JobType, Verdict, Visibility, job_id
from choir.bazaar.jobs.rules import VerdictValue
from choir.bazaar.jobs.service import buyer_of, owners_of
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.seconds import rules as seconds_rules
from choir.bazaar.seconds import store as seconds_store
from choir.bazaar.seconds.model import MISSING, SecondReviewRow
from choir.bazaar.seconds.service import SecondReviews
from choir.bazaar.settlement import extras
from choir.bazaar.settlement import store as settlement_store
from choir.bazaar.settlement.pricing import Shares
from choir.bazaar.uploads import blobs
from choir.bazaar.uploads.blobs import SentBlob
from choir.foundation.canonical import ObjectHash, canonical_bytes, parse_json
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import TooLarge
from choir.foundation.policy import Policy
from choir.identity.model import Principal, Scope
from choir.objects.model import Scheme
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.tasks import schedule


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """What a provider hands in; the bytes are stored as objects already."""

    artifact: ObjectHash
    claimed: ObjectHash
    result: dict[str, Any]
    trajectory: ObjectHash
    result_signature: bytes  # by the provider's result key, over the hash of the result in canonical form
    trajectory_signature: bytes  # likewise, over the trajectory's hash


@dataclass(frozen=True, slots=True)
class LockedAttempt:
    """An attempt whose job is locked, with all attempts at that job."""

    job: Job
    attempts: list[Attempt]
    attempt: Attempt


_GIVEN_BACK = "bazaar.withdrawn"


class Attempts:
    """Use cases of providers and of the verifier; all inside the caller's transaction."""

    def __init__(self, lifecycle: JobLifecycle, seconds: SecondReviews, objects: Objects) -> None:
        self._lifecycle = lifecycle
        self._seconds = seconds
        self._objects = objects

    def waiting(self, tx: Tx, provider: UUID) -> list[Attempt]:
        """What a provider is expected to work on."""
        return [attempt for attempt in store.live_attempts_of(tx, provider) if attempt.state in AT_WORK]

    def queue(self, tx: Tx, provider: UUID) -> list[Attempt]:
        """What a provider is at work on, or has handed in and waits for the verdict of, oldest first."""
        return store.live_attempts_of(tx, provider)

    def page(self, tx: Tx, provider: UUID, *, live: bool, before: UUID | None, limit: int) -> list[Attempt]:
        """What a provider is expected to work on, or all it was ever asked; newest first."""
        if not live:
            return store.attempts_of(tx, provider, before=before, limit=limit)
        waiting = [attempt for attempt in self.waiting(tx, provider) if before is None or attempt.id < before]
        return waiting[::-1][:limit]

    def start(self, tx: Tx, who: Principal, id_: UUID) -> Attempt:
        """The provider has begun; saying so twice changes nothing."""
        return self.start_job(tx, who, id_)[1]

    def start_job(self, tx: Tx, who: Principal, id_: UUID) -> tuple[Job, Attempt]:
        """The same, with the job that is to be done."""
        job, attempts, attempt = self._own(tx, who, id_)
        if attempt.state is AttemptState.RUNNING:
            return job, attempt
        self._must_be_at_work(job, attempt)
        attempt = replace(attempt, state=AttemptState.RUNNING)
        step = self._lifecycle.step(job, "started", who.source, attempt=attempt)
        return self._lifecycle.go_on(tx, job, attempts=attempts, changed=attempt, steps=[step]), attempt

    def give_back(self, tx: Tx, who: Principal, id_: UUID, reason: str, *, again: bool = False) -> Attempt:
        """The provider does not do it; the job goes to somebody else. Giving it back twice changes nothing.

        Who cannot do it is not asked again; who only stops (`again`) may be, when it is back.
        """
        job, _, attempt = self._own(tx, who, id_)
        if attempt.reason == _GIVEN_BACK:
            return attempt
        self._must_be_at_work(job, attempt)
        state = AttemptState.GONE if again else AttemptState.WITHDRAWN
        attempt = self._lifecycle.end_attempt(tx, job, attempt, state, _GIVEN_BACK)
        self._lifecycle.note(tx, job, "withdrawn", who.source, attempt=attempt, said=reason[:200])
        self._lifecycle.go_on(tx, job)
        return attempt

    def hand_in(self, tx: Tx, who: Principal, id_: UUID, handed: StoredDelivery) -> Attempt:
        """Deliver; from here on the artifact is in escrow. The same delivery again changes nothing."""
        return self.deliver(tx, who, self.taken(tx, who, id_), handed)

    def taken(self, tx: Tx, who: Principal, id_: UUID) -> LockedAttempt:
        """An attempt of one's own, with its job locked."""
        return LockedAttempt(*self._own(tx, who, id_))

    def deliver(self, tx: Tx, who: Principal, taken: LockedAttempt, handed: StoredDelivery) -> Attempt:
        """Deliver what was made for an attempt that is locked."""
        job, attempt = taken.job, taken.attempt
        result = self._objects.put_atom(tx, handed.result, attempt.owner).hash
        given = (handed.artifact, handed.claimed, result, handed.trajectory)
        if given == (attempt.artifact, attempt.claimed, attempt.result, attempt.trajectory):
            return attempt
        self._must_be_at_work(job, attempt)
        names = {handed.artifact, result, handed.trajectory}
        self._objects.refer_all(tx, f"bazaar:{job_id(job.id)}", names)
        self._sign(tx, attempt, result, handed)
        artifact, claimed, _, trajectory = given
        attempt = replace(
            attempt,
            state=AttemptState.DELIVERED,
            delivered_us=self._lifecycle.clock.now_us(),
            artifact=artifact,
            claimed=claimed,
            result=result,
            trajectory=trajectory,
        )
        step = self._lifecycle.step(job, "handed_in", who.source, attempt=attempt)
        self._lifecycle.go_on(tx, job, attempts=taken.attempts, changed=attempt, steps=[step])
        self._queue(tx, job, attempt)
        return attempt

    def _queue(self, tx: Tx, job: Job, attempt: Attempt) -> None:
        """Have it verified when it is its turn.

        Nobody's deliveries stand in the way of everybody else's: the more of one's own wait, the later the next. But
        each comes behind those of its own that were handed in before it, also when fewer wait by now than then.
        """
        now_us = self._lifecycle.clock.now_us()
        others, last_us = store.turn_of_next(tx, VERIFY, attempt, job.buyer)
        yields_us = max(others * self._lifecycle.policy.verify_turn_s * MICROSECONDS, last_us + 1 - now_us)
        schedule(tx, VERIFY, str(attempt.id), now_us, yields_us=yields_us if others else 0)

    def _sign(self, tx: Tx, attempt: Attempt, result: ObjectHash, handed: StoredDelivery) -> None:
        """Keep the provider's signatures beside what they are over; a wrong one refuses the whole delivery."""
        public = self._lifecycle.market.result_key(tx, attempt)
        signed = {result: handed.result_signature, handed.trajectory: handed.trajectory_signature}
        for name in sorted(signed):
            self._objects.add_signature(tx, name, Scheme.BIP340, public, signed[name], limited=False)

    # The verifier

    def begin_verifying(self, tx: Tx, id_: UUID) -> tuple[Job, Attempt] | None:
        """What to verify, or nothing if that is done already. Beginning again after a crash is fine."""
        job, attempts, attempt = self._locked(tx, id_)
        if attempt.state is AttemptState.DELIVERED:
            attempt = replace(attempt, state=AttemptState.VERIFYING)
            job = self._lifecycle.go_on(tx, job, attempts=attempts, changed=attempt)
        return (job, attempt) if attempt.state is AttemptState.VERIFYING else None

    def conclude(self, tx: Tx, id_: UUID, verdict: Verdict) -> Attempt:
        """Keep the verdict, pay what it is worth, and let the job go on. A second verdict changes nothing.

        A patch that passed waits for its second review first, if one was ordered.
        """
        job, attempts, attempt = self._locked(tx, id_)
        if attempt.state is not AttemptState.VERIFYING or self._waits(tx, job, attempt, verdict):
            return attempt
        return self._conclude(tx, job, attempts, attempt, verdict)

    def _waits(self, tx: Tx, job: Job, attempt: Attempt, verdict: Verdict) -> bool:
        """Whether somebody else looks at it before it is paid."""
        if job.type is not JobType.PATCH_GEN or not verdict.passed or job.qualifies is not None:
            return False
        if job.winner is not None or job.cancelled_us is not None or not seconds_store.of_job(tx, job.id):
            return False
        assert attempt.artifact is not None
        return self._seconds.begin(tx, job, attempt, attempt.artifact, self._keep(tx, job, attempt, verdict))

    def conclude_seconds(self, tx: Tx, job_: UUID) -> None:
        """Go on with what has waited for second reviews that are over. Doing so twice changes nothing."""
        job = self._lifecycle.lock(tx, job_)
        for row in seconds_store.waiting(tx, job_):
            assert row.attempt is not None
            found = self._seconds.result(tx, row)
            if job.type is JobType.CODE_REVIEW:
                found = replace(found, agrees=self._seconds.agreement(tx, found))
            seconds_store.save(tx, found)
            told = {"outcome": str(found.outcome), "findings": found.findings, "blocking": found.blocking}
            attempts = store.attempts(tx, job_)
            attempt = next(one for one in attempts if one.id == row.attempt)
            self._lifecycle.note(tx, job, "second_reviewed", SOURCE, attempt=attempt, **told)
            if row.verdict is not None and attempt.state is AttemptState.VERIFYING:
                self._after_second(tx, job, attempts, attempt, found)

    def _after_second(
        self, tx: Tx, job: Job, attempts: list[Attempt], attempt: Attempt, row: SecondReviewRow
    ) -> Attempt:
        """The verdict with the second review beside what the machine found."""
        assert row.verdict is not None
        assert row.outcome is not None
        choice = SecondReview(self._objects.get_atom(tx, job.request).get("second_review", ""))
        check = seconds_rules.check(row.outcome, row.findings or 0, row.blocking or 0, choice)
        missing = check.reason == MISSING
        if missing:  # that is nobody's failure: it ends as if the buyer had called it off now
            job = replace(job, cancelled_us=job.cancelled_us or self._lifecycle.clock.now_us())
        atom = seconds_rules.with_check(self._objects.get_atom(tx, row.verdict), check, _check_json(check))
        kept = self._objects.put_atom(tx, atom, None, f"bazaar:{job_id(job.id)}").hash
        verdict = seconds_rules.verdict_of(self._objects.get_atom(tx, row.verdict) if missing else atom)
        return self._conclude(tx, job, attempts, attempt, verdict, kept=kept, reason=MISSING if missing else "")

    def _conclude(
        self,
        tx: Tx,
        job: Job,
        attempts: list[Attempt],
        attempt: Attempt,
        verdict: Verdict,
        *,
        kept: ObjectHash | None = None,
        reason: str = "",
    ) -> Attempt:
        """Settle a verdict, which is `kept` already or else is now."""
        lifecycle = self._lifecycle
        now_us = lifecycle.clock.now_us()
        held = lifecycle.settlement.held(tx, job) - extras.reserved(job, attempts)
        more = extras.due(job, attempts, verdict)
        sharers = lifecycle.settlement.sharers(tx, job)
        to_fund = self._note_verified(tx, job, attempt, verdict, now_us)
        settled = rules.settle(job, attempt, verdict, held, lifecycle.policy, sharers=sharers, fee_to_fund=to_fund)
        settled = replace(settled, reason=reason or settled.reason)
        paid = settled.shares.total if settled.shares is not None else 0
        verdict_hash = kept or self._keep(tx, job, attempt, verdict)
        attempt = replace(
            attempt, verdict=verdict_hash, state=settled.state, reason=settled.reason, paid=paid, extras=more
        )
        receipt = lifecycle.settlement.receipt(tx, job, attempt, verdict, settled.shares, now_us)
        attempt = lifecycle.leave(tx, job, replace(attempt, receipt=receipt))
        self._note_earnings(tx, job, attempt, settled, now_us)
        if settled.state is AttemptState.PASSED:
            job = replace(job, winner=attempt.id, price=paid, receipt=receipt)
            self._sample(tx, job, attempt)
            self._second_of_review(tx, job, attempt)
        told: dict[str, Any] = {"extras": str(more)} if more else {}
        step = lifecycle.step(
            job,
            _said(job, settled.state),
            SOURCE,
            attempt=attempt,
            paid=str(paid),
            reason=settled.reason,
            receipt=receipt,
            **told,
        )
        due = PaymentDue(attempt, settled.shares or Shares(0, 0), receipt, more, sharers) if paid or more else None
        lifecycle.go_on(tx, job, due=due, attempts=attempts, changed=attempt, steps=[step])
        return attempt

    def _second_of_review(self, tx: Tx, job: Job, attempt: Attempt) -> None:
        """A review that was ordered twice is done again by somebody else, whatever the first one says."""
        if job.type is JobType.CODE_REVIEW and job.buyer != SOURCE:
            self._seconds.begin(tx, replace(job, winner=None), attempt, job.inputs[DIFF], None)

    def _note_verified(self, tx: Tx, job: Job, attempt: Attempt, verdict: Verdict, now_us: int) -> bool:
        """Count a delivery among its provider's; whether the fee for a hidden failure goes to the verifier fund."""
        if job.qualifies is not None:
            return False
        hidden = rules.is_hidden_failure(verdict)
        settlement_store.note_verified(tx, attempt.id, attempt.provider, now_us, hidden_failure=hidden)
        if not hidden:
            return False
        market = self._lifecycle.market_policy
        failures = settlement_store.hidden_failures(tx, attempt.provider, market.hidden_window)
        return rules.fee_to_fund(failures, market)

    def _sample(self, tx: Tx, job: Job, attempt: Attempt) -> None:
        """Some reviews that were paid for are followed by one of the node's own, at a time that nobody can foresee."""
        policy, entropy = self._lifecycle.policy, self._lifecycle.entropy
        if job.type is not JobType.CODE_REVIEW or job.buyer == SOURCE:
            return
        if rules.is_sampled(entropy.bytes(8), policy.planted_one_in):
            later_us = int.from_bytes(entropy.bytes(8)) % (policy.planted_after_s_max * MICROSECONDS + 1)
            schedule(tx, FOLLOW, str(attempt.id), self._lifecycle.clock.now_us() + later_us)

    @staticmethod
    def _note_earnings(tx: Tx, job: Job, attempt: Attempt, settled: VerdictValue, at_us: int) -> None:
        if job.qualifies is not None:
            return  # it earns nothing, and is no work for anybody
        shares = settled.shares or Shares(0, 0)
        passed = int(settled.state is AttemptState.PASSED)
        counts = {"jobs": 1, "passed": passed, "earned": shares.provider, "fees": shares.platform}
        settlement_store.note_earnings(tx, attempt.provider, job.type, at_us, **counts)

    def abandon(self, tx: Tx, id_: UUID, reason: str) -> None:
        """It cannot be verified, by the order itself or by this node: nobody has failed, and the job is called off."""
        job, _, attempt = self._locked(tx, id_)
        if attempt.state is not AttemptState.VERIFYING:
            return
        self._lifecycle.end_attempt(tx, job, attempt, AttemptState.CANCELLED, reason)
        job = replace(job, cancelled_us=job.cancelled_us or self._lifecycle.clock.now_us())
        self._lifecycle.note(tx, job, "unverifiable", SOURCE, attempt=attempt, reason=reason)
        self._lifecycle.go_on(tx, job)

    def _keep(self, tx: Tx, job: Job, attempt: Attempt, verdict: Verdict) -> ObjectHash:
        atoms = [*verdict.evidence, verdict_atom(job, attempt, verdict)]
        stored = self._objects.put_atoms(tx, atoms, None)
        self._objects.refer_all(tx, f"bazaar:{job_id(job.id)}", {item.hash for item in stored})
        return stored[-1].hash

    def _own(self, tx: Tx, who: Principal, id_: UUID) -> tuple[Job, list[Attempt], Attempt]:
        who.must(Scope.SELL)
        return self._locked(tx, id_, owners_of(who))

    @staticmethod
    def _locked(tx: Tx, id_: UUID, owners: Collection[str] | None = None) -> tuple[Job, list[Attempt], Attempt]:
        """The job, locked, with its attempts as they are from then on; strangers to it lock nothing."""
        job = store.lock_job_of(tx, id_, owners)
        if job is None:
            raise UnknownAttempt(attempt=attempt_id(id_))
        attempts = store.attempts(tx, job.id)
        return job, attempts, next(attempt for attempt in attempts if attempt.id == id_)

    def _must_be_at_work(self, job: Job, attempt: Attempt) -> None:
        """Attempts end by themselves when their time is over, also where nobody has looked yet."""
        if attempt.state not in AT_WORK or self._lifecycle.clock.now_us() >= attempt.deadline_us:
            state = attempt.state.value if attempt.state not in AT_WORK else "too late"
            raise AttemptOver(attempt=attempt_id(attempt.id), state=state, job=job_id(job.id))


def _said(job: Job, state: AttemptState) -> str:
    if state is not AttemptState.PASSED:
        return state.value
    return "paid" if job.qualifies is None else "qualified"


def verdict_atom(job: Job, attempt: Attempt, verdict: Verdict) -> dict[str, Any]:
    """A verdict as an object, with each check and the hash of its evidence. What is not known is left out."""
    return {
        "format": "verdict/1",
        "job": job_id(job.id),
        "attempt": attempt_id(attempt.id),
        "request": job.request,
        "artifact": attempt.artifact,
        "passed": verdict.passed,
        "units_milli": verdict.units_milli,
        "sandbox": verdict.tier,
        "checks": [_check_json(check) for check in verdict.checks],
        **verdict.sureness(),
    }


def _check_json(check: Check) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": check.name, "passed": check.passed}
    for name in ("reason", "details", "evidence"):
        value = getattr(check, name)
        if value:
            shown[name] = value
    if check.visibility is Visibility.HIDDEN:
        shown["hidden"] = True
    return shown


ARTIFACT, TRAJECTORY = "artifact", "trajectory"


@dataclass(frozen=True, slots=True)
class SentDelivery:
    """What a provider sends."""

    artifact: SentBlob
    claimed: ObjectHash
    result: dict[str, Any]
    trajectory: SentBlob
    result_signature: bytes
    trajectory_signature: bytes


class DeliveryIntake:
    """Takes deliveries; inside the caller's transaction."""

    def __init__(self, attempts: Attempts, objects: Objects, policy: Policy) -> None:
        self._attempts = attempts
        self._objects = objects
        self._policy = policy

    def hand_in(self, tx: Tx, who: Principal, id_: UUID, sent: SentDelivery) -> Attempt:
        """Keep the bytes and deliver them; the same delivery again changes nothing."""
        taken = self._attempts.taken(tx, who, id_)
        attempt = taken.attempt
        result = self._plain(sent.result)
        read_result(taken.job.type, result, self._policy.of(VerificationPolicy))
        limits = {
            ARTIFACT: self._policy.of(BazaarPolicy).artifact_bytes_max,
            TRAJECTORY: self._policy.of(BazaarPolicy).trajectory_bytes_max,
        }
        holders = [attempt.owner, buyer_of(who)]
        blobs.keep(tx, self._objects, (sent.artifact, sent.trajectory), attempt.owner, holders, limits)
        handed = StoredDelivery(
            artifact=sent.artifact.name,
            claimed=sent.claimed,
            result=result,
            trajectory=sent.trajectory.name,
            result_signature=sent.result_signature,
            trajectory_signature=sent.trajectory_signature,
        )
        return self._attempts.deliver(tx, who, taken, handed)

    def _plain(self, result: dict[str, Any]) -> Any:
        data = canonical_bytes(result)
        limit = self._policy.of(VerificationPolicy).request_bytes_max
        if len(data) > limit:
            raise TooLarge(what="The result", size=len(data), limit=limit)
        return parse_json(data)
