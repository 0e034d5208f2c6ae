"""A market hall on a fresh database: people with satoshi, providers, jobs, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from choir.bazaar import job_store
from choir.bazaar.attempts import Attempts, Handed
from choir.bazaar.disputes.service import Disputes
from choir.bazaar.jobs import Jobs, Order
from choir.bazaar.lives import Lives
from choir.bazaar.market import Chosen, Outcome, Wanted
from choir.bazaar.model import LIVE_ATTEMPT, Attempt, Check, Job, JobType, Verdict, Visibility
from choir.bazaar.pricing import Terms
from choir.bazaar.settling import PLATFORM, Settling, available
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.foundation.policy import BazaarPolicy, ObjectsPolicy
from choir.identity.model import Principal, person_owner
from choir.ledger import reading
from choir.ledger.keys import NodeKeys
from choir.ledger.model import Draft, Leg, hold_account
from choir.ledger.verifying import verify_database
from choir.objects.service import Objects
from choir.storage.database import Database, Tx
from choir.storage.identity import read_identity
from choir.storage.outbox import Outbox
from tests.identity.agency import SECRET, Agency, session

WORLD = "world:lightning/external/SAT"
POLICY = bytes_hash(b"a policy")
TERMS = Terms(base=3_000_000, per_unit=100_000, cap=20_000_000)


@dataclass
class Stall:
    """A provider, as far as jobs see it."""

    who: Principal
    terms: Terms = TERMS
    slots: int = 5
    alive: bool = True
    taken: int = 0
    record: list[Outcome] = field(default_factory=list)
    overturned: list[tuple[UUID, bool]] = field(default_factory=list)


class Stalls:
    """A market in memory that offers a job to whoever is free and has not tried it, in order of arrival."""

    def __init__(self) -> None:
        self.all: dict[UUID, Stall] = {}

    def choose(self, tx: Tx, wanted: Wanted, now_us: int) -> list[Chosen]:
        free = [
            (id_, stall)
            for id_, stall in self.all.items()
            if stall.alive
            and stall.taken < stall.slots
            and id_ not in wanted.tried
            and stall.terms.base <= wanted.ceiling
        ]
        chosen = free[: self.racing(wanted.strategy)]
        for _, stall in chosen:
            stall.taken += 1
        return [Chosen(id_, stall.who.source, stall.terms, {"because": "it is free"}) for id_, stall in chosen]

    def racing(self, strategy: dict[str, Any]) -> int:
        return int(strategy.get("race", 1))

    def let_go(self, tx: Tx, provider: UUID) -> None:
        self.all[provider].taken -= 1
        assert self.all[provider].taken >= 0

    def record(self, tx: Tx, outcome: Outcome) -> None:
        self.all[outcome.provider].record.append(outcome)

    def overturn(self, tx: Tx, provider: UUID, job: UUID, *, passed: bool, at_us: int) -> None:
        self.all[provider].overturned.append((job, passed))

    def gone(self, tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
        return {id_ for id_ in providers if not self.all[id_].alive}


def verdict(*, visible: bool = True, hidden: bool = True, units_milli: int = 1000) -> Verdict:
    """A verdict as the verifier would give it."""
    checks = (
        Check("applies", visible, "" if visible else "patch.does_not_apply"),
        Check("hidden", hidden, "" if hidden else "hidden.failed", visibility=Visibility.HIDDEN),
    )
    return Verdict(visible and hidden, checks, units_milli, "bubblewrap", ({"saw": str(units_milli)},))


class Hall:
    """Everything of a bazaar that tests touch."""

    def __init__(self, database: Database, policy: BazaarPolicy | None = None) -> None:
        self.agency = Agency(database)
        self.agency.open_books()
        self.clock = self.agency.clock
        self.policy = policy or BazaarPolicy()
        self.objects = Objects(self.clock, ObjectsPolicy())
        with self.tx() as tx:
            self.keys = NodeKeys(read_identity(tx).origin, SECRET.signer, self.clock)
            self.keys.record_first(tx)
            self.agency.accounts.open(tx, [WORLD, PLATFORM], reason="a test", source="test")
        self.market = Stalls()
        settling = Settling(self.agency.spending, self.agency.accounts, self.objects, self.keys, POLICY)
        outbox = Outbox(self.clock, self.agency.entropy)
        self.lives = Lives(self.market, settling, outbox, self.clock, self.agency.entropy, self.policy)
        self.jobs = Jobs(self.lives, self.objects)
        self.attempts = Attempts(self.lives, self.objects)
        self.disputes = Disputes(self.lives, self.jobs, self.agency.ledger, self.objects, rulings_needed=1)
        self.funded = 0
        self.keys_used = 0

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.agency.tx() as tx:
            yield tx

    def person(self, satoshi: int = 0) -> Principal:
        who = session(self.agency.person())
        account = available(who.source)
        with self.tx() as tx:
            self.agency.accounts.open(tx, [account], reason="a test", source="test")
            if satoshi:
                draft = Draft("deposit", "a test", "test", f"fund {who.source}", (Leg(WORLD, account, satoshi * 1000),))
                self.agency.ledger.post(tx, draft)
        self.funded += satoshi * 1000
        return who

    def provider(self, terms: Terms = TERMS, slots: int = 5) -> UUID:
        who = self.person()
        assert who.person is not None
        self.market.all[who.person] = Stall(who, terms, slots)
        return who.person

    def order(
        self, who: Principal, satoshi: int = 10_000, key: str = "", race: int = 1, attempts: int = 3, seconds: int = 900
    ) -> Job:
        self.keys_used += not key
        order = Order(
            JobType.PATCH_GEN,
            {"title": "mend it"},
            satoshi * 1000,
            seconds,
            strategy={"race": race},
            attempts_max=attempts,
        )
        with self.tx() as tx:
            return self.jobs.open(tx, who, order, key or f"order {self.keys_used}")

    def assign(self, job: Job) -> list[Attempt]:
        with self.tx() as tx:
            self.jobs.assign(tx, job.id)
        return self.live(job)

    def live(self, job: Job) -> list[Attempt]:
        with self.tx() as tx:
            return [attempt for attempt in job_store.attempts(tx, job.id) if attempt.state in LIVE_ATTEMPT]

    def hand_in(self, attempt: Attempt, artifact: bytes = b"a patch") -> Attempt:
        who = self.market.all[attempt.provider].who
        with self.tx() as tx:
            self.attempts.start(tx, who, attempt.id)
        with self.tx() as tx:
            name = self.objects.put_blob(tx, [artifact], who.source).hash
            return self.attempts.hand_in(tx, who, attempt.id, Handed(name, name, {"status": "success"}, None))

    def judge(self, attempt: Attempt, found: Verdict) -> Attempt:
        with self.tx() as tx:
            self.attempts.begin_verifying(tx, attempt.id)
        with self.tx() as tx:
            return self.attempts.conclude(tx, attempt.id, found)

    def look(self) -> None:
        """What the scheduler does from time to time."""
        with self.tx() as tx:
            looked, offered = self.jobs.to_look_at(tx, 100), self.jobs.to_offer(tx, 100)
        for id_ in looked:
            with self.tx() as tx:
                self.jobs.look(tx, id_)
        for id_ in offered:
            with self.tx() as tx:
                self.jobs.assign(tx, id_)

    def wait(self, seconds: float) -> None:
        self.clock.at_us += int(seconds * MICROSECONDS)

    def job(self, job: Job) -> Job:
        with self.tx() as tx:
            found = job_store.job(tx, job.id)
        assert found is not None
        return found

    def held(self, job: Job) -> int:
        with self.tx() as tx:
            return reading.balance(tx, hold_account(job.hold, Asset.SAT)).balance

    def has(self, who: Principal | UUID) -> int:
        owner = person_owner(who) if isinstance(who, UUID) else who.source
        with self.tx() as tx:
            return reading.balance(tx, available(owner)).balance

    def fees(self) -> int:
        with self.tx() as tx:
            return reading.balance(tx, PLATFORM).balance

    def check(self) -> None:
        """The ledger verifies, nothing appeared or vanished, and no job that is over holds anything."""
        with self.tx() as tx:
            report = verify_database(tx, self.keys)
            assert report.good, report.differences
            totals: dict[str, int] = {}
            for line in reading.trial_balance(tx):
                totals[line.asset] = totals.get(line.asset, 0) + line.balance
            assert not any(totals.values()), totals
            over = tx.rows("select hold, state from jobs where closed_us is not null")
            for hold, state in over:
                assert reading.balance(tx, hold_account(hold, Asset.SAT)).balance == 0, state
            unfinished = tx.value(
                "select count(*) from jobs where closed_us is null and state in ('closed', 'expired')"
            )
            assert unfinished == 0
