"""A market hall on a fresh database: people with satoshi, providers, jobs, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import LIVE_ATTEMPT, Attempt
from choir.bazaar.attempts.service import StoredDelivery
from choir.bazaar.bonds.model import bond_account
from choir.bazaar.composition import Parts, assemble
from choir.bazaar.contracts import SecondReview, SkillFile, SkillFolder
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import Check, Job, JobType, Verdict, Visibility
from choir.bazaar.jobs.service import Order
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers.model import Heartbeat
from choir.bazaar.settlement.pricing import Terms
from choir.bazaar.settlement.service import PLATFORM, VERIFIER_FUND, available
from choir.bazaar.skills.model import NewSkill, Skill
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash, hash_digest
from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.identity.clusters.service import Clusters
from choir.identity.model import Principal
from choir.identity.people import referral_store
from choir.identity.people.referral_store import Referral
from choir.ledger import queries
from choir.ledger.claims import Claims
from choir.ledger.keys import NodeKeys
from choir.ledger.model import Draft, Leg, hold_account
from choir.ledger.verification import verify_database
from choir.objects.policy import ObjectsPolicy
from choir.objects.service import Objects
from choir.policies import default_policy
from choir.storage.database import Database, Tx
from choir.storage.identity import read_identity
from choir.storage.outbox import Outbox
from tests.bazaar.providers.stalls import registration, result_key
from tests.identity.agency import SECRET, Agency, session

WORLD = "world:lightning/external/SAT"
POLICY = bytes_hash(b"a policy")
TRAJECTORY = b"what was done"
NUMBERS = ProvidersPolicy(qualification_required=0, newcomer_share_bps=0)
TERMS = Terms(base=3_000_000, per_unit=100_000, cap=20_000_000)


@dataclass
class Stall:
    """A provider and whoever runs it."""

    id: UUID
    who: Principal
    key: int  # which result key is its own
    alive: bool = True


def verdict(*, visible: bool = True, hidden: bool = True, units_milli: int = 1000) -> Verdict:
    """A verdict as the verifier would give it."""
    checks = (
        Check("applies", visible, "" if visible else "patch.does_not_apply"),
        Check("hidden", hidden, "" if hidden else "hidden.failed", visibility=Visibility.HIDDEN),
    )
    return Verdict(visible and hidden, checks, units_milli, "bubblewrap", ({"saw": str(units_milli)},))


def strategy(race: int, attempts: int) -> dict[str, Any]:
    return {"kind": "race", "count": race} if race > 1 else {"kind": "sequential_retry", "attempts": attempts}


class Hall:
    """Everything of a bazaar that tests touch."""

    def __init__(
        self,
        database: Database,
        policy: BazaarPolicy | None = None,
        *,
        production: bool = False,
        providers: ProvidersPolicy = NUMBERS,
    ) -> None:
        self.agency = Agency(database)
        self.agency.open_books()
        self.clock = self.agency.clock
        self.policy = policy or BazaarPolicy(examine_s_max=0)  # nobody examines here
        self.objects = Objects(self.clock, ObjectsPolicy())
        with self.tx() as tx:
            self.keys = NodeKeys(read_identity(tx).origin, SECRET.signer, self.clock)
            self.keys.record_first(tx)
            self.agency.accounts.open(tx, [WORLD, PLATFORM, VERIFIER_FUND], reason="a test", source="test")
        self.stalls: dict[UUID, Stall] = {}
        self.outbox = Outbox(self.clock, self.agency.entropy)
        agency = self.agency
        self.claims = Claims(agency.ledger, agency.accounts)
        parts = Parts(
            ledger=agency.ledger,
            accounts=agency.accounts,
            claims=self.claims,
            spending=agency.spending,
            objects=self.objects,
            keys=self.keys,
            clusters=Clusters(self.clock, agency.policy),
            outbox=self.outbox,
            clock=self.clock,
            entropy=agency.entropy,
            policy=default_policy().replaced(self.policy, providers),
            policy_hash=POLICY,
        )
        self.bazaar = bazaar = assemble(parts, production=production)
        self.providers, self.jobs = bazaar.providers, bazaar.jobs
        self.attempts, self.disputes, self.market = bazaar.attempts, bazaar.disputes, bazaar.market
        self.qualification, self.forget = bazaar.qualification, bazaar.forget
        self.planted_reviews, self.access = bazaar.planted_reviews, bazaar.access
        self.keys_of_providers = 1000
        self.funded = 0
        self.keys_used = 0
        self.moves = 0

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

    def provider(self, terms: Terms = TERMS, slots: int = 5, who: Principal | None = None) -> UUID:
        """A provider of patches that is there."""
        who = who or self.person()
        key = self.keys_of_providers + len(self.stalls)
        with self.tx() as tx:
            found = self.providers.register(tx, who, registration(who.source, key, slots))
            self.providers.declare(tx, who, [JobType.PATCH_GEN, JobType.SANDBOX_RUN], slots)
            if terms != TERMS:
                self.providers.publish(tx, who, JobType.PATCH_GEN, terms)
        self.stalls[found.id] = Stall(found.id, who, key)
        self.beat()
        return found.id

    def beat(self) -> None:
        """Everyone who is alive says so."""
        for stall in self.stalls.values():
            if stall.alive:
                with self.tx() as tx:
                    self.providers.heartbeat(tx, stall.who, Heartbeat(True, 100))

    def vanish(self, provider: UUID) -> None:
        """It stops answering, and that is noticed."""
        self.stalls[provider].alive = False
        with self.tx() as tx:
            tx.run("update provider_market set alive_until_us = 0 where provider = %s", provider)

    def record(self, provider: UUID) -> list[bool]:
        """What its record says of its tries, oldest first."""
        with self.tx() as tx:
            return [outcome.passed for outcome in reversed(self.providers.outcomes(tx, provider))]

    def in_use(self, provider: UUID) -> int:
        with self.tx() as tx:
            return self.providers.view(tx, provider).market.in_use

    def order(
        self,
        who: Principal,
        satoshi: int = 10_000,
        key: str = "",
        race: int = 1,
        attempts: int = 3,
        seconds: int = 900,
        *,
        extras: int = 0,
        skill: UUID | None = None,
        second_review: SecondReview = SecondReview.NONE,
        criteria: dict[str, Any] | None = None,
        inputs: dict[str, ObjectHash] | None = None,
    ) -> Job:
        self.keys_used += not key
        request = {"title": "mend it"} | ({"second_review": second_review.value} if second_review else {})
        order = Order(
            JobType.PATCH_GEN,
            request,
            satoshi * 1000,
            seconds,
            inputs=inputs or {},
            strategy=strategy(race, attempts),
            criteria=criteria or {},
            skill=skill,
            second_review=second_review,
            extras=extras * 1000,
        )
        with self.tx() as tx:
            return self.jobs.open(tx, who, order, key or f"order {self.keys_used}")

    def assign(self, job: Job) -> list[Attempt]:
        with self.tx() as tx:
            self.jobs.assign(tx, job.id)
        return self.live(job)

    def tries(self, job: Job) -> list[Attempt]:
        with self.tx() as tx:
            return job_store.attempts(tx, job.id)

    def live(self, job: Job) -> list[Attempt]:
        return [attempt for attempt in self.tries(job) if attempt.state in LIVE_ATTEMPT]

    def hand_in(self, attempt: Attempt, artifact: bytes = b"a patch") -> Attempt:
        who = self.stalls[attempt.provider].who
        with self.tx() as tx:
            self.attempts.start(tx, who, attempt.id)
        with self.tx() as tx:
            self.objects.put_blob(tx, [artifact], who.source)
            self.objects.put_blob(tx, [TRAJECTORY], who.source)
            return self.attempts.hand_in(tx, who, attempt.id, self.handed(attempt.provider, artifact))

    def handed(self, provider: UUID, artifact: bytes, result: dict[str, Any] | None = None) -> StoredDelivery:
        """What this provider would hand in, signed."""
        told = {"status": "success"} if result is None else result
        key = result_key(self.stalls[provider].key)
        sign = [key.sign_schnorr(hash_digest(name)) for name in (canonical_hash(told), bytes_hash(TRAJECTORY))]
        name = bytes_hash(artifact)
        return StoredDelivery(name, name, told, bytes_hash(TRAJECTORY), *sign)

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
        self.look_at_seconds()

    def look_at_seconds(self) -> None:
        """What the scheduler does when second reviews are over, and with bonds that were asked back."""
        with self.tx() as tx:
            over, leaving = self.bazaar.seconds.over(tx, 100), self.bazaar.bonds.leaving(tx, 100)
        for id_ in over:
            with self.tx() as tx:
                self.attempts.conclude_seconds(tx, id_)
        for id_ in leaving:
            with self.tx() as tx:
                self.bazaar.bonds.give_back(tx, id_)

    def skill(self, creator: Principal, name: str = "mend", version: str = "1", share_bps: int | None = None) -> Skill:
        """A skill that orders can name."""
        folder = SkillFolder((SkillFile("SKILL.md", f"# {name} {version}".encode()),))
        with self.tx() as tx:
            return self.bazaar.skills.publish(tx, creator, NewSkill(name, version, "Mends.", share_bps, folder))[0]

    def refer(self, buyer: Principal, referrer: Principal, seconds: int = 10**8) -> None:
        """As if the buyer had named a referrer at the sign-up."""
        assert buyer.person is not None
        assert referrer.person is not None
        now_us = self.clock.now_us()
        with self.tx() as tx:
            found = Referral(referrer.person, now_us, now_us + seconds * MICROSECONDS)
            referral_store.insert(tx, buyer.person, found)

    def bond(self, provider: UUID) -> int:
        """What is on the account of a provider's bond."""
        return self.balance(bond_account(available(self.stalls[provider].who.source)))

    def balance(self, account: str) -> int:
        with self.tx() as tx:
            found = [item.balance for item in queries.accounts(tx, prefix=account) if item.name == account]
        return sum(found)

    def fund(self) -> int:
        """What the verifier fund has."""
        return self.balance(VERIFIER_FUND)

    def second_holds(self, jobs: Sequence[UUID]) -> int:
        """What is set aside for second reviews of these jobs."""
        with self.tx() as tx:
            holds = tx.rows("select hold from second_reviews where job = any(%s)", list(jobs))
            return sum(queries.balance(tx, hold_account(hold, Asset.SAT)).balance for (hold,) in holds)

    def wait(self, seconds: float) -> None:
        self.clock.at_us += int(seconds * MICROSECONDS)
        self.beat()

    def job(self, job: Job) -> Job:
        with self.tx() as tx:
            found = job_store.job(tx, job.id)
        assert found is not None
        return found

    def held(self, job: Job) -> int:
        with self.tx() as tx:
            return queries.balance(tx, hold_account(job.hold, Asset.SAT)).balance

    def has(self, who: Principal | UUID) -> int:
        owner = self.stalls[who].who.source if isinstance(who, UUID) else who.source
        with self.tx() as tx:
            return queries.balance(tx, available(owner)).balance

    def freeze(self, account: str) -> None:
        with self.tx() as tx:
            self.agency.accounts.freeze(tx, account, reason="a test", source="test")

    def unfreeze(self, account: str) -> None:
        with self.tx() as tx, self.disputes.collecting(tx, account):
            self.claims.unfreeze(tx, account, reason="a test", source="test")

    def claim(self, owner: str) -> int:
        """What an owner is owed because their account could not be paid."""
        with self.tx() as tx:
            found = [item for item in queries.accounts(tx, prefix=f"{owner}/claim") if item.balance]
        return sum(item.balance for item in found)

    def endow(self, provider: UUID, satoshi: int) -> int:
        """Give a provider money of its own; says how much, in thousandths."""
        return self._between(WORLD, available(self.stalls[provider].who.source), satoshi * 1000)

    def spend_all(self, provider: UUID) -> int:
        """A provider takes out all that it has; says how much that was."""
        return self._between(available(self.stalls[provider].who.source), WORLD, self.has(provider))

    def _between(self, from_: str, to: str, amount: int) -> int:
        self.moves += 1
        with self.tx() as tx:
            self.agency.accounts.open(tx, [from_, to], reason="a test", source="test")
            if amount:
                leg = Leg(from_, to, amount)
                self.agency.ledger.post(tx, Draft("transfer", "a test", "test", f"move {self.moves}", (leg,)))
        return amount

    def deposits(self, disputes: list[UUID]) -> int:
        """What is set aside for disputes now."""
        with self.tx() as tx:
            holds = tx.rows("select hold from disputes where id = any(%s)", disputes)
            return sum(queries.balance(tx, hold_account(hold, Asset.SAT)).balance for (hold,) in holds)

    def fees(self) -> int:
        with self.tx() as tx:
            return queries.balance(tx, PLATFORM).balance

    def verifier_fund(self) -> int:
        with self.tx() as tx:
            return queries.balance(tx, VERIFIER_FUND).balance

    def check(self) -> None:
        """The ledger verifies, nothing appeared or vanished, and no job that is over holds anything."""
        with self.tx() as tx:
            report = verify_database(tx, self.keys)
            assert report.good, report.differences
            totals: dict[str, int] = {}
            for line in queries.trial_balance(tx):
                totals[line.asset] = totals.get(line.asset, 0) + line.balance
            assert not any(totals.values()), totals
            over = tx.rows("select hold, state from jobs where closed_us is not null and qualifies is null")
            for hold, state in over:
                assert queries.balance(tx, hold_account(hold, Asset.SAT)).balance == 0, state
            free = tx.value(
                "select count(*) from jobs where qualifies is not null and exists"
                " (select 1 from accounts where name = 'hold:' || hold || '/escrow/SAT')"
            )
            assert free == 0  # what costs nothing holds nothing
            unfinished = tx.value(
                "select count(*) from jobs where closed_us is null and state in ('closed', 'expired')"
            )
            assert unfinished == 0
