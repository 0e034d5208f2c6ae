"""A market around a real node: buyers and providers in the test's process, on the node's own database.

Whatever they do is done again while the node or its database is away, as their programs would.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, AttemptState, attempt_id
from choir.bazaar.attempts.service import StoredDelivery
from choir.bazaar.contracts import RunOutput, SandboxRunRequest, SandboxRunResult, read_request
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import Job, JobType, job_id
from choir.bazaar.jobs.service import Order
from choir.bazaar.policy import VerificationPolicy, WorkersPolicy
from choir.bazaar.providers.model import Heartbeat, Qualification
from choir.bazaar.settlement.service import PLATFORM, available
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers.fulfilment import FulfilledOrder, fulfil
from choir.bazaar.workers.model import IsCancelled, WorkOrder, WorkProduct
from choir.foundation.clock import SystemClock
from choir.foundation.errors import Unavailable
from choir.foundation.money import Asset
from choir.foundation.settings import load_settings
from choir.identity.keys.secret_values import SecretKey
from choir.identity.model import ALL_SCOPES, Principal, Role, person_owner
from choir.ledger import queries
from choir.ledger.model import Draft, Leg, hold_account
from choir.ledger.verification import verify_database
from choir.node import Node, build_node
from choir.storage.database import Database, Tx
from tests.bazaar.providers.stalls import registration, result_key
from tests.operations.nodes import NodeUnderTest

T = TypeVar("T")
WORLD = "world:lightning/external/SAT"
RUN = JobType.SANDBOX_RUN


def person(n: int) -> Principal:
    id_ = UUID(int=n)
    return Principal(Role.PERSON, person_owner(id_), person=id_, scopes=ALL_SCOPES, credential="session")


class Prints:
    """A worker that knows what the command of an order prints, without waiting for it."""

    name, types = "prints", frozenset({RUN})

    def problem(self) -> str:
        return ""

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        assert isinstance(order.request, SandboxRunRequest)
        trajectory.user("run it")
        program = order.request.argv[-1].replace("time.sleep", "float")
        lines: list[str] = []
        exec(program, {"print": lines.append})  # noqa: S102 - the test's own order, or the node's
        output = RunOutput(0, "".join(f"{line}\n" for line in lines).encode())
        return WorkProduct(output.to_bytes(), SandboxRunResult(0), "ran it")


class Market:
    """One buyer and some providers."""

    def __init__(self, node: Node, satoshi: int = 1_000_000) -> None:
        self.node = node
        self.operator = Principal(Role.OPERATOR, "operator", credential="operator")
        self.buyer = person(1)
        self.funds = satoshi * 1000
        self.keys: dict[UUID, tuple[Principal, int]] = {}
        self.ordered = 0
        leg = Leg(WORLD, available(self.buyer.source), self.funds)

        def fund(tx: Tx) -> None:
            self.node.accounts.open(tx, [WORLD, PLATFORM, leg.to], reason="a test", source="test")
            self.node.ledger.post(tx, Draft("deposit", "a test", "test", "funds", (leg,)))

        self.do(fund)

    @classmethod
    def of(cls, under_test: NodeUnderTest) -> Market:
        """Around a node in processes of its own."""
        settings = load_settings({"home": str(under_test.home)}, under_test.environment)
        return cls(build_node(settings, Database(under_test.dsn("choir_app"), wait_s=5).open()))

    def do(self, work: Callable[[Tx], T], limit_s: float = 90) -> T:
        deadline = time.monotonic() + limit_s
        while True:
            try:
                return self.node.database.run(work)
            except Unavailable:
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def provider(self, slots: int = 5) -> UUID:
        n = len(self.keys) + 2
        who, key = person(n), n
        found = self.do(lambda tx: self.node.bazaar.providers.register(tx, who, registration(who.source, key, slots)))
        self.keys[found.id] = who, key
        self.beat(found.id)
        self.do(lambda tx: self.node.bazaar.providers.declare(tx, who, [RUN], slots))
        return found.id

    def beat(self, provider: UUID) -> None:
        who, _ = self.keys[provider]
        self.do(lambda tx: self.node.bazaar.providers.heartbeat(tx, who, Heartbeat(True, 100)))

    def vanish(self, provider: UUID) -> None:
        """Its time to be heard from is over."""
        self.do(lambda tx: tx.run("update provider_market set alive_until_us = 1 where provider = %s", provider))

    def qualification(self, provider: UUID) -> Qualification:
        return self.do(lambda tx: self.node.bazaar.providers.view(tx, provider).offers[0].qualification)

    def order(self, sleeps_s: float = 0.0) -> Job:
        """Order a command that takes so long to verify."""
        self.ordered += 1
        key = f"order {self.ordered}"
        program = f"import time; time.sleep({sleeps_s}); print({self.ordered})"
        terms = {"max_cost_msat": "1000000", "time_limit_s": 120, "idempotency_key": key}
        request = {"argv": ["python3", "-c", program], "deterministic": True, **terms}
        order = Order(RUN, request, 1_000_000, 120)
        return self.do(lambda tx: self.node.bazaar.jobs.open(tx, self.buyer, order, key))

    def assign(self, job: Job) -> None:
        self.do(lambda tx: self.node.bazaar.jobs.assign(tx, job.id))

    def waiting(self, provider: UUID) -> list[Attempt]:
        return self.do(lambda tx: self.node.bazaar.attempts.waiting(tx, provider))

    def work(self, provider: UUID) -> int:
        """Do everything that a provider is asked to do now; says how much that was."""
        waiting = self.waiting(provider)
        for attempt in waiting:
            self.hand_in(attempt)
        return len(waiting)

    def hand_in(self, attempt: Attempt) -> None:
        who, _ = self.keys[attempt.provider]
        done = self._fulfilled(attempt)
        assert done.result is not None
        assert done.claimed is not None
        result, claimed = done.result.to_json(), done.claimed

        def deliver(tx: Tx) -> None:
            artifact = self.node.objects.put_blob(tx, [done.artifact], who.source).hash
            trajectory = self.node.objects.put_blob(tx, [done.trajectory], who.source).hash
            handed = StoredDelivery(artifact, claimed, result, trajectory, done.result_signature, done.signed.signature)
            self.node.bazaar.attempts.hand_in(tx, who, attempt.id, handed)

        self.do(deliver)

    def _fulfilled(self, attempt: Attempt) -> FulfilledOrder:
        def asked(tx: Tx) -> tuple[Job, object]:
            job = job_store.job(tx, attempt.job)
            assert job is not None
            return job, self.node.objects.get_atom(tx, job.request)

        job, atom = self.do(asked)
        request = read_request(job.type, atom, VerificationPolicy())  # type: ignore[arg-type]
        order = WorkOrder(job_id(job.id), job.type, request, deadline=time.monotonic() + 60)
        key = SecretKey(result_key(self.keys[attempt.provider][1]).secret)
        return fulfil(order, Prints(), key, SystemClock(), WorkersPolicy(hand_in_s=0), lambda: False)

    def job(self, job: Job) -> Job:
        found = self.do(lambda tx: job_store.job(tx, job.id))
        assert found is not None
        return found

    def attempts(self, job: Job) -> list[Attempt]:
        return self.do(lambda tx: job_store.attempts(tx, job.id))

    def all_over(self) -> bool:
        return not self.do(lambda tx: tx.rows("select 1 from jobs where closed_us is null limit 1"))

    def check(self) -> None:
        """Whoever was to be paid was paid once; no job holds anything; nothing appeared or vanished; it verifies."""

        def look(tx: Tx) -> None:
            report = verify_database(tx, self.node.keys)
            assert report.good, report.differences
            for job, hold in tx.rows("select id, hold from jobs where qualifies is null"):
                assert queries.balance(tx, hold_account(hold, Asset.SAT)).balance == 0
                winners = [tried for tried in job_store.attempts(tx, job) if tried.state is AttemptState.PASSED]
                assert len(winners) <= 1
            paid = 0
            for id_, amount in tx.rows("select id, paid from job_attempts where paid > 0"):
                keyed = tx.value("select count(*) from entries where key = %s", f"pay:{attempt_id(id_)}")
                assert keyed == 1
                paid += amount
            earned = sum(_has(tx, who.source) for who, _ in self.keys.values())
            assert earned + queries.balance(tx, PLATFORM).balance == paid
            assert _has(tx, self.buyer.source) == self.funds - paid

        self.do(look)

    def close(self) -> None:
        self.node.close()


def _has(tx: Tx, owner: str) -> int:
    found = tx.value("select count(*) from accounts where name = %s", available(owner))
    return queries.balance(tx, available(owner)).balance if found else 0
