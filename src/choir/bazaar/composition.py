"""The bazaar as a whole: its services put together, for the node and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.bazaar.attempts.service import Attempts, DeliveryIntake
from choir.bazaar.bonds.service import Bonds
from choir.bazaar.disputes import store as dispute_store
from choir.bazaar.disputes.model import HoldOfDispute, dispute_id
from choir.bazaar.disputes.service import Disputes
from choir.bazaar.hall.service import Hall
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.access import JobAccess
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import HoldOfJob, job_id
from choir.bazaar.jobs.orders import OrderIntake
from choir.bazaar.jobs.service import Jobs
from choir.bazaar.policy import BazaarPolicy, MarketPolicy, ProvidersPolicy, VerificationPolicy
from choir.bazaar.providers.market import Market
from choir.bazaar.providers.service import Providers
from choir.bazaar.qualification.service import QualificationJobs
from choir.bazaar.retention.service import Retention
from choir.bazaar.sampling.service import PlantedReviews
from choir.bazaar.seconds import store as second_store
from choir.bazaar.seconds.service import SecondReviews
from choir.bazaar.settlement.service import Settlement
from choir.bazaar.skills.service import Skills
from choir.bazaar.uploads.service import Uploads
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.policy import Policy
from choir.identity.clusters.service import Clusters
from choir.identity.delegations.spending import Spending
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.keys import NodeKeys
from choir.ledger.model import hold_id
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Bazaar:
    """The services of jobs, providers and disputes."""

    providers: Providers
    market: Market
    jobs: Jobs
    attempts: Attempts
    disputes: Disputes
    qualification: QualificationJobs
    planted_reviews: PlantedReviews
    uploads: Uploads
    orders: OrderIntake
    deliveries: DeliveryIntake
    access: JobAccess
    settlement: Settlement
    hall: Hall
    bonds: Bonds
    skills: Skills
    retention: Retention
    seconds: SecondReviews

    def forget(self, tx: Tx, owner: str) -> None:
        """An owner is erased: call off what they ordered, let others do what they were at work on, and retire them."""
        self.jobs.forget(tx, owner)
        self.hall.forget(tx, owner)
        self.skills.forget(tx, owner)
        self.bonds.forget(tx, owner)
        self.providers.forget(tx, owner)

    @staticmethod
    def check_not_ours(tx: Tx, hold: UUID) -> None:
        """Raise if a hold is somebody's budget or deposit here and still needed: such holds end with what they are for.

        A hold and what it is for are made in one transaction, so there is no moment at which this would miss one.
        """
        job = job_store.live_with_hold(tx, hold)
        if job is not None:
            raise HoldOfJob(hold=hold_id(hold), job=job_id(job))
        about = second_store.with_hold(tx, hold)
        if about is not None:
            raise HoldOfJob(hold=hold_id(hold), job=job_id(about))
        dispute = dispute_store.undecided_with_hold(tx, hold)
        if dispute is not None:
            raise HoldOfDispute(hold=hold_id(hold), dispute=dispute_id(dispute))

    def excuse(self, tx: Tx, since_us: int, now_us: int) -> None:
        """The node was away since then: nobody could be heard, hand in or answer, and whoever still had time has it.

        Told twice of the same absence, it adds nothing.
        """
        self.providers.excuse(tx)
        self.jobs.excuse(tx)
        if job_store.note_absence(tx, since_us, now_us):
            for part in (self.jobs, self.disputes, self.uploads):
                part.put_off(tx, since_us, now_us - since_us)

    def turn_back(self, tx: Tx, since_us: int, by_us: int) -> None:
        """The clock was at the one time and is so much earlier now: whoever still had time has as much as before."""
        self.jobs.turn_back(tx, since_us, by_us)
        self.providers.turn_back(tx, since_us, by_us)
        for part in (self.disputes, self.uploads):
            part.put_off(tx, since_us, -by_us)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the bazaar stands on."""

    ledger: Ledger
    accounts: Accounts
    claims: Claims
    spending: Spending
    objects: Objects
    keys: NodeKeys
    clusters: Clusters
    outbox: Outbox
    clock: Clock
    entropy: Entropy
    policy: Policy
    policy_hash: ObjectHash


def assemble(parts: Parts, *, production: bool) -> Bazaar:
    """Put the services together."""
    policy = parts.policy
    providers = Providers(parts.clusters, parts.outbox, parts.clock, parts.entropy, policy.of(ProvidersPolicy))
    bonds = Bonds(
        providers.records,
        parts.spending,
        parts.ledger,
        parts.accounts,
        parts.claims,
        parts.clock,
        policy.of(BazaarPolicy),
    )
    market = Market(providers, bonds, policy.of(BazaarPolicy))
    settlement = Settlement(
        parts.spending,
        parts.accounts,
        parts.claims,
        parts.objects,
        parts.keys,
        parts.clusters,
        parts.policy_hash,
        independent_bps_min=policy.of(ProvidersPolicy).independent_bps_min,
    )
    lifecycle = JobLifecycle(
        market,
        settlement,
        parts.outbox,
        parts.clock,
        parts.entropy,
        policy.of(BazaarPolicy),
        policy.of(MarketPolicy),
    )
    jobs = Jobs(lifecycle, parts.objects)
    needed = policy.of(BazaarPolicy).rulings_production if production else policy.of(BazaarPolicy).rulings_development
    seconds = SecondReviews(lifecycle, jobs, parts.objects, policy.of(MarketPolicy), policy.of(VerificationPolicy))
    attempts = Attempts(lifecycle, seconds, parts.objects)
    skills = Skills(parts.objects, parts.clock, parts.entropy, policy.of(MarketPolicy), policy.of(BazaarPolicy))
    numbers = policy.of(MarketPolicy), policy.of(BazaarPolicy)
    access = JobAccess(parts.objects)
    return Bazaar(
        providers=providers,
        market=market,
        jobs=jobs,
        attempts=attempts,
        disputes=Disputes(lifecycle, access, parts.ledger, parts.objects, rulings_needed=needed),
        qualification=QualificationJobs(lifecycle, providers, parts.objects, policy.of(ProvidersPolicy)),
        planted_reviews=PlantedReviews(lifecycle, jobs, parts.objects, policy.of(VerificationPolicy)),
        uploads=Uploads(parts.objects, parts.clock, parts.entropy, policy.of(BazaarPolicy)),
        orders=OrderIntake(jobs, market, skills, parts.objects, policy),
        deliveries=DeliveryIntake(attempts, parts.objects, policy),
        access=access,
        settlement=settlement,
        hall=Hall(parts.objects, parts.clock),
        bonds=bonds,
        skills=skills,
        retention=Retention(lifecycle, parts.objects, parts.accounts, parts.clock, *numbers),
        seconds=seconds,
    )
