"""A market on a fresh database: owners, providers and buyers, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import coincurve

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promises, rules
from choir.bazaar.providers.model import Claims, Heartbeat, Isolation, OutcomeRecord, Provider, Registration
from choir.bazaar.providers.selection import Selected
from choir.bazaar.providers.selection_rules import Criteria
from choir.bazaar.providers.service import Providers
from choir.foundation.clock import ManualClock, SeededEntropy
from choir.identity.clusters.service import Clusters, Reason
from choir.identity.model import ALL_SCOPES, Principal, Role, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Database, Tx
from choir.storage.outbox import Event, Outbox, Position

PATCH, REVIEW, RUN, TEXT = JobType.PATCH_GEN, JobType.CODE_REVIEW, JobType.SANDBOX_RUN, JobType.TEXT_GEN
ALL_TYPES = tuple(JobType)
SAT = 1000


def owner(n: int) -> str:
    """A person who needs no row: clusters know them by name."""
    return person_owner(UUID(int=n))


def principal(name: str) -> Principal:
    return Principal(Role.PERSON, name, scopes=ALL_SCOPES, credential="session")


def result_key(n: int) -> coincurve.PrivateKey:
    return coincurve.PrivateKey((n + 1).to_bytes(32))


def registration(name: str, n: int, capacity: int = 5, claims: Claims | None = None) -> Registration:
    key = result_key(n)
    public = key.public_key_xonly.format()
    proof = key.sign_schnorr(rules.key_proof_digest(name, public))
    claims = claims or Claims(f"stall {n}", "eu-west", "", Isolation.BUBBLEWRAP)
    return Registration(claims, public, proof, capacity)


@dataclass
class Stalls:
    """The services, with a transaction around each call."""

    database: Database
    policy: ProvidersPolicy = field(default_factory=lambda: ProvidersPolicy(bond_msat=0))
    clock: ManualClock = field(default_factory=ManualClock)
    jobs: int = 0

    def __post_init__(self) -> None:
        entropy = SeededEntropy(7)
        self.outbox = Outbox(self.clock, entropy)
        self.clusters = Clusters(self.clock, DelegationsPolicy())
        self.providers = Providers(self.clusters, self.outbox, self.clock, entropy, self.policy)

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.database.unit_of_work() as tx:
            yield tx

    def new_job(self) -> UUID:
        self.jobs += 1
        return UUID(int=self.jobs)

    def register(self, n: int, *, capacity: int = 5, claims: Claims | None = None) -> Provider:
        with self.tx() as tx:
            return self.providers.register(tx, principal(owner(n)), registration(owner(n), n, capacity, claims))

    def stall(
        self, n: int, *types: JobType, capacity: int = 5, claims: Claims | None = None, qualified: bool = True
    ) -> Provider:
        """A provider that is there and can be chosen."""
        found = self.register(n, capacity=capacity, claims=claims)
        with self.tx() as tx:
            self.providers.declare(tx, principal(owner(n)), types or (RUN,), capacity)
        self.beat(n, free=capacity)
        if qualified:
            for type_ in types or (RUN,):
                self.qualify(found.id, type_)
        return found

    def beat(self, n: int, *, free: int = 5, healthy: bool = True, running: int | None = None) -> None:
        with self.tx() as tx:
            self.providers.heartbeat(tx, principal(owner(n)), Heartbeat(healthy, free, "1.0", running))

    def qualify(self, provider: UUID, type_: JobType, passed: bool = True) -> None:
        job = self.new_job()
        with self.tx() as tx:
            self.providers.begin_qualification(tx, provider, type_, job)
            told = OutcomeRecord(job, type_, "treasury:main", passed, 0, 1, self.clock.now_us(), qualification=True)
            assert self.providers.record_outcome(tx, provider, told)

    def outcome(
        self,
        provider: UUID,
        buyer: str,
        *,
        passed: bool = True,
        price: int = 200 * SAT,
        type_: JobType = RUN,
        job: UUID | None = None,
        attempt: int = 1,
    ) -> OutcomeRecord:
        told = OutcomeRecord(
            job or self.new_job(), type_, buyer, passed, price, 1000, self.clock.now_us(), "", attempt=attempt
        )
        with self.tx() as tx:
            self.providers.record_outcome(tx, provider, told)
        return told

    def join(self, a: str, b: str) -> None:
        with self.tx() as tx:
            self.clusters.join(tx, a, b, Reason.PAYOUT, "sha256:x")

    def rebuild(self, provider: UUID) -> bool:
        with self.tx() as tx:
            return self.providers.records.rebuild(tx, provider)

    def select(self, criteria: Criteria, seed: bytes = b"no newcomer") -> Selected:
        with self.tx() as tx:
            return self.providers.selection.select(tx, criteria, self.clock.now_us(), seed)

    def ids(self, criteria: Criteria, seed: bytes = b"no newcomer") -> list[UUID]:
        return [one.candidate.provider for one in self.select(criteria, seed).ranked]

    def promise(self) -> None:
        """After a test wrote standings by itself: what the records do whenever they change one."""
        with self.tx() as tx:
            promises.refresh(tx, [row[0] for row in tx.rows("select id from providers")], self.policy)

    def events(self) -> list[Event]:
        with self.tx() as tx:
            return self.outbox.read(tx, Position(), 10_000)


def wants(type_: JobType = RUN, max_price: int = 10**9, **other: object) -> Criteria:
    return Criteria(type_, max_price, **other)  # type: ignore[arg-type]
