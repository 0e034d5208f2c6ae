"""The whole way once: ordered, worked on, handed in, verified in the sandbox, paid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.attempts.service import StoredDelivery
from choir.bazaar.contracts import RunOutput, SandboxRunRequest, read_request
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import Job, JobState, JobType, job_id
from choir.bazaar.jobs.service import Order
from choir.bazaar.policy import VerificationPolicy, WorkersPolicy
from choir.bazaar.trajectories.reader import sign_hash
from choir.bazaar.verification.inspection import Inspection
from choir.bazaar.verification.service import Verifier
from choir.bazaar.workers.fulfilment import FulfilledOrder, fulfil
from choir.bazaar.workers.model import WorkOrder
from choir.bazaar.workers.run_worker import RunWorker
from choir.bazaar.workers.shop import Workshop
from choir.foundation.canonical import bytes_hash
from choir.identity.keys.secret_values import SecretKey
from choir.identity.model import Principal
from choir.sandbox.service import Sandboxes
from tests.bazaar.hall import Hall
from tests.bazaar.providers.stalls import registration, result_key
from tests.sandbox.conftest import started


class Street:
    """A hall with a verifier and a provider's workshop."""

    def __init__(self, hall: Hall, sandboxes: Sandboxes, folder: Path) -> None:
        self.hall = hall
        self.verifier = Verifier(sandboxes, folder=folder)
        self.shop = Workshop(sandboxes, folder / "shop", WorkersPolicy(hand_in_s=0), sandbox=sandboxes.policy)
        self.inspection = Inspection(
            hall.agency.database,
            hall.objects,
            hall.jobs,
            hall.attempts,
            hall.disputes,
            hall.market,
            lambda: self.verifier,
            folder,
            WorkersPolicy(),
        )
        self.buyer: Principal = hall.person(20_000)
        self.provider = hall.provider()

    def order(self, *argv: str, deterministic: bool = True) -> tuple[Job, Attempt]:
        terms = {"max_cost_msat": "1000000", "time_limit_s": 60, "idempotency_key": "k"}
        request = {"argv": list(argv), "deterministic": deterministic, **terms}
        with self.hall.tx() as tx:
            job = self.hall.jobs.open(tx, self.buyer, Order(JobType.SANDBOX_RUN, request, 1_000_000, 60), "k")
        [attempt] = self.hall.assign(job)
        return job, attempt

    def work(self, job: Job, attempt: Attempt) -> FulfilledOrder:
        """What a provider's machine does, on this one."""
        with self.hall.tx() as tx:
            request = read_request(job.type, self.hall.objects.get_atom(tx, job.request), VerificationPolicy())
        assert isinstance(request, SandboxRunRequest)
        order = WorkOrder(job_id(job.id), job.type, request, deadline=time.monotonic() + 60)
        return fulfil(order, RunWorker(self.shop), self.key(), self.hall.clock, WorkersPolicy(), lambda: False)

    def key(self) -> SecretKey:
        return SecretKey(result_key(self.hall.stalls[self.provider].key).secret)

    def hand_in(
        self,
        attempt: Attempt,
        done: FulfilledOrder,
        tamper: Callable[[FulfilledOrder], FulfilledOrder] = lambda done: done,
    ) -> None:
        who = self.hall.stalls[self.provider].who
        done = tamper(done)
        assert done.claimed is not None
        assert done.result is not None
        with self.hall.tx() as tx:
            artifact = self.hall.objects.put_blob(tx, [done.artifact], who.source).hash
            trajectory = self.hall.objects.put_blob(tx, [done.trajectory], who.source).hash
            handed = StoredDelivery(
                artifact, done.claimed, done.result.to_json(), trajectory, done.result_signature, done.signed.signature
            )
            self.hall.attempts.hand_in(tx, who, attempt.id, handed)


@pytest.fixture
def street(hall: Hall, tmp_path: Path) -> Iterator[Street]:
    with started(tmp_path / "sandbox") as sandboxes:
        (tmp_path / "shop").mkdir()
        made = Street(hall, sandboxes, tmp_path)
        yield made
        made.verifier.close()
        made.shop.close()


def test_a_command_is_ordered_run_verified_and_paid(street: Street, hall: Hall) -> None:
    job, attempt = street.order("/usr/bin/python3", "-c", "print(6*7)")
    street.hand_in(attempt, street.work(job, attempt))
    street.inspection.verify(attempt.id)
    done = hall.job(job)
    assert done.state is JobState.PAID
    assert done.price is not None
    assert hall.has(street.provider) > 0
    assert hall.has(street.buyer) == 20_000_000 - done.price
    with hall.tx() as tx:
        artifact = hall.objects.get(tx, hall.access.bought(tx, street.buyer, job.id))
        [judged] = job_store.attempts(tx, job.id)
        assert judged.verdict is not None
        checks = hall.objects.get_atom(tx, judged.verdict)["checks"]
    output = RunOutput.from_bytes(artifact, VerificationPolicy())
    assert output.stdout == b"42\n"
    assert [check["name"] for check in checks][-1] == "trajectory"
    street.inspection.verify(attempt.id)  # a task that comes twice changes nothing
    assert hall.job(job) == done
    hall.check()


def test_a_provider_that_takes_another_key_loses_nothing_that_it_had_signed(street: Street, hall: Hall) -> None:
    job, attempt = street.order("/usr/bin/python3", "-c", "print(6*7)")
    street.hand_in(attempt, street.work(job, attempt))
    who = hall.stalls[street.provider].who
    for key in (2_000, 2_001):  # before it is verified, and before it is disputed
        fresh = registration(who.source, key)
        with hall.tx() as tx:
            hall.providers.change_key(tx, who, fresh.result_key, fresh.proof)
        if key == 2_000:
            street.inspection.verify(attempt.id)
            assert hall.job(job).state is JobState.PAID
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, street.buyer, job.id, attempt.id, Trigger.TRAJECTORY_INVALID, "another's key")
    street.inspection.reverify(dispute.id)
    with hall.tx() as tx:
        assert hall.disputes.get(tx, street.buyer, dispute.id).winner is Winner.PROVIDER
    hall.check()


def test_output_that_the_command_does_not_give_is_not_paid(street: Street, hall: Hall) -> None:
    job, attempt = street.order("/usr/bin/python3", "-c", "print(6*7)")

    def lie(done: FulfilledOrder) -> FulfilledOrder:
        forged = replace(RunOutput.from_bytes(done.artifact, VerificationPolicy()), stdout=b"43\n").to_bytes()
        return replace(done, artifact=forged, claimed=bytes_hash(forged))

    street.hand_in(attempt, street.work(job, attempt), lie)
    street.inspection.verify(attempt.id)
    with hall.tx() as tx:
        [judged] = job_store.attempts(tx, job.id)
    # Only some runs are run again; those that are show the lie, and so does every dispute.
    if judged.state is AttemptState.FAILED:
        assert hall.has(street.provider) == 0
    else:
        with hall.tx() as tx:
            dispute = hall.disputes.open(tx, street.buyer, job.id, attempt.id, Trigger.TESTS_FAIL, "it prints 42")
        street.inspection.reverify(dispute.id)
        with hall.tx() as tx:
            assert hall.disputes.get(tx, street.buyer, dispute.id).winner is Winner.BUYER
        assert hall.has(street.buyer) == 20_000_000
    hall.check()


def test_a_trajectory_of_another_job_is_not_taken(street: Street, hall: Hall) -> None:
    job, attempt = street.order("/usr/bin/python3", "-c", "print(6*7)")

    def other(done: FulfilledOrder) -> FulfilledOrder:
        data = done.trajectory.replace(job_id(job.id).encode(), job_id(attempt.id).encode())
        name = bytes_hash(data)
        return replace(
            done, trajectory=data, signed=replace(done.signed, hash=name, signature=sign_hash(name, street.key()))
        )

    street.hand_in(attempt, street.work(job, attempt), other)
    street.inspection.verify(attempt.id)
    with hall.tx() as tx:
        [judged] = job_store.attempts(tx, job.id)
    assert (judged.state, judged.reason) == (AttemptState.FAILED, "trajectory.wrong_job")
    assert hall.has(street.provider) == 0
    hall.check()
