"""Orders are looked at before anybody works on them: what nothing could pass is called off, and costs nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.contracts import Environment, PatchGenRequest, Terms, read_request
from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.model import REPOSITORY, Job, JobState, JobType
from choir.bazaar.jobs.service import EXAMINE, Order
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.qualification.trials import Chance, make
from choir.bazaar.verification.inspection import Inspection
from choir.bazaar.verification.service import Verifier
from choir.foundation.clock import MICROSECONDS, SeededEntropy
from choir.identity.model import Principal
from choir.storage.database import Database
from tests.bazaar.hall import Hall
from tests.sandbox.conftest import started

BUDGET = 5_000_000


class Office:
    """A hall with somebody who examines orders."""

    def __init__(self, hall: Hall, verifier: Verifier, folder: Path) -> None:
        self.hall = hall
        self.buyer: Principal = hall.person(100_000)
        self.inspection = Inspection(
            hall.agency.database,
            hall.objects,
            hall.jobs,
            hall.attempts,
            hall.disputes,
            hall.market,
            lambda: verifier,
            folder,
            WorkersPolicy(),
        )
        trial = make(JobType.PATCH_GEN, Chance(SeededEntropy(1)), Terms(BUDGET, 60, "k"))
        request = read_request(JobType.PATCH_GEN, trial.request, VerificationPolicy())
        assert isinstance(request, PatchGenRequest)
        self.request = replace(request, hidden=None)
        self.bundle = trial.shown[REPOSITORY]

    def order(self, bundle: bytes | None = None, **changed: Any) -> Job:
        with self.hall.tx() as tx:
            data = self.bundle if bundle is None else bundle
            name = self.hall.objects.put_blob(tx, [data], self.buyer.source).hash
            request = replace(self.request, **changed)
            order = Order(JobType.PATCH_GEN, request.to_json(), BUDGET, 60, {REPOSITORY: name})
            job = self.hall.jobs.open(tx, self.buyer, order, "k")
            assert tx.value("select count(*) from tasks where name = %s and key = %s", EXAMINE, str(job.id)) == 1
        return job

    def examined(self, job: Job) -> tuple[Job, str]:
        """The job after it was examined, and what was said against it."""
        self.inspection.examine(job.id)
        with self.hall.tx() as tx:
            steps = self.hall.access.steps(tx, self.buyer, job.id)
        return self.hall.job(job), next((step.data["reason"] for step in steps if step.what == "unverifiable"), "")


@pytest.fixture(scope="module")
def verifier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verifier]:
    folder = tmp_path_factory.mktemp("examining")
    with started(folder / "sandbox") as sandboxes:
        environments = Environments(sandboxes, folder)
        with Verifier(sandboxes, folder=folder, environments=environments) as found:
            yield found


@pytest.fixture
def hall(database: Database) -> Hall:
    return Hall(database, BazaarPolicy())


@pytest.fixture
def office(hall: Hall, verifier: Verifier, tmp_path: Path) -> Office:
    return Office(hall, verifier, tmp_path)


def test_an_order_is_offered_once_its_tests_were_seen_to_fail(office: Office, hall: Hall) -> None:
    provider = hall.provider()
    job = office.order()
    with hall.tx() as tx:
        assert job.id not in hall.jobs.to_offer(tx, 10)
        assert job.id not in hall.jobs.waiting_for(tx, [provider], 10)
    found, reason = office.examined(job)
    assert (found.state, reason) == (JobState.ASSIGNED, "")
    again, _ = office.examined(job)  # a task that comes twice changes nothing
    assert again == found
    assert len(hall.live(job)) == 1
    hall.check()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"test_command": "python3 -m pytest -q README.md"}, "order.no_tests"),
        ({"base_commit": "0" * 40}, "bazaar.no_base"),
        ({"environment": Environment("true go; exit 3")}, "order.setup_failed"),
        ({"environment": Environment("true", ("absent",))}, "order.no_setup_file"),
    ],
)
def test_an_order_that_nothing_could_pass_is_called_off(
    office: Office, hall: Hall, changed: dict[str, Any], reason: str
) -> None:
    hall.provider()
    found, said = office.examined(office.order(**changed))
    assert (found.state, said) == (JobState.CANCELLED, reason)
    assert hall.live(found) == []
    assert hall.has(office.buyer) == 100_000_000
    hall.check()


def test_tests_that_pass_already_prove_nothing(office: Office, hall: Hall) -> None:
    bundle, commit = _bundle()
    found, said = office.examined(office.order(bundle, base_commit=commit))
    assert (found.state, said) == (JobState.CANCELLED, "order.tests_passed_before")
    assert hall.has(office.buyer) == 100_000_000


def test_the_buyer_may_order_though_the_tests_pass(office: Office, hall: Hall) -> None:
    bundle, commit = _bundle()
    found, said = office.examined(office.order(bundle, base_commit=commit, fail_before=False))
    assert (found.state, said) == (JobState.OPEN, "")


@pytest.mark.parametrize("bundle", [b"no bundle", b""])
def test_a_bundle_that_is_none_is_called_off(office: Office, hall: Hall, bundle: bytes) -> None:
    found, said = office.examined(office.order(bundle))
    assert found.state is JobState.CANCELLED
    assert said
    assert hall.has(office.buyer) == 100_000_000
    hall.check()


def test_an_order_cancelled_meanwhile_stays_so(office: Office, hall: Hall) -> None:
    hall.provider()
    job = office.order()
    with hall.tx() as tx:
        hall.jobs.cancel(tx, office.buyer, job.id)
    found, said = office.examined(job)
    assert (found.state, said) == (JobState.CANCELLED, "")
    hall.check()


def test_an_order_that_nobody_could_examine_in_time_is_offered(office: Office, hall: Hall) -> None:
    hall.provider()
    job = office.order()
    hall.clock.at_us += hall.policy.examine_s_max * MICROSECONDS
    with hall.tx() as tx:
        assert job.id in hall.jobs.to_offer(tx, 10)
    hall.beat()
    [attempt] = hall.assign(job)
    office.inspection.examine(job.id)  # late, and without a say
    assert hall.live(job) == [attempt]


def _bundle() -> tuple[bytes, str]:
    """A repository whose test passes, as a bundle, and its commit."""
    made = bundle_of({"test_fine.py": b"def test_fine():\n    assert 1 + 1 == 2\n"})
    return made.data, made.commit
