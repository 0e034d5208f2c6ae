"""The bazaar, as a part of a node: its services, and what a node does for its market."""

from __future__ import annotations

from collections.abc import Iterable

from choir.bazaar import events
from choir.bazaar.composition import Bazaar, Parts, assemble
from choir.bazaar.environments import layers
from choir.bazaar.environments.readiness import check_machine
from choir.bazaar.jobs.lifecycle import FOLLOW
from choir.bazaar.jobs.model import FREE, QUALIFY
from choir.bazaar.jobs.service import LOOK
from choir.bazaar.policy import BazaarPolicy, EnvironmentsPolicy, MarketPolicy
from choir.bazaar.rounds import MarketRounds
from choir.bazaar.verification.runner import VerificationRunner
from choir.feature import BackgroundWork, Base, Feature, RepeatingTask, Stopping
from choir.identity.clusters.service import Clusters
from choir.identity.delegations.spending import Spending
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.keys import NodeKeys
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.tasks import Task

_UPLOADS_AT_ONCE = 50


def _build(base: Base) -> Iterable[object]:
    parts = Parts(
        ledger=base.of(Ledger),
        accounts=base.of(Accounts),
        claims=base.of(Claims),
        spending=base.of(Spending),
        objects=base.of(Objects),
        keys=base.of(NodeKeys),
        clusters=base.of(Clusters),
        outbox=base.outbox,
        clock=base.clock,
        entropy=base.entropy,
        policy=base.policy,
        policy_hash=base.policy_hash,
    )
    return (assemble(parts, production=base.identity.production),)


def _work(base: Base, stopping: Stopping) -> BackgroundWork:
    bazaar, policy = base.of(Bazaar), base.policy.of(BazaarPolicy)
    market = base.policy.of(MarketPolicy)
    verification = VerificationRunner(base, stopping)
    rounds = MarketRounds(base, verification.bench.verifier_problem)
    bazaar.orders.watch(verification.bench.verifier_problem)

    def forget_uploads(tx: Tx, _: Task) -> None:
        """Drop uploads that were not finished in their time."""
        bazaar.uploads.forget(tx, _UPLOADS_AT_ONCE)

    def close_days(tx: Tx, _: Task) -> None:
        """Sum what came of days that are over."""
        bazaar.hall.close_days(tx)

    def collect_layers(_: Task) -> None:
        """Remove what set-ups left beyond the policy's limits, and what killed ones left."""
        layers.collect(base.settings.home, base.policy.of(EnvironmentsPolicy))

    return BackgroundWork(
        every=(
            RepeatingTask("bazaar.jobs", policy.look_every_s, slow=rounds.tend_jobs),
            RepeatingTask("bazaar.silence", policy.rounds_every_s, quick=rounds.silence),
            RepeatingTask("bazaar.records", policy.rounds_every_s, quick=rounds.rebuild_records),
            RepeatingTask("bazaar.promises", policy.rounds_every_s, quick=rounds.refresh_promises),
            RepeatingTask("bazaar.qualifying", policy.rounds_every_s, slow=rounds.qualify_all),
            RepeatingTask("bazaar.days", policy.days_every_s, quick=close_days),
            RepeatingTask("bazaar.layers", base.policy.of(EnvironmentsPolicy).collect_every_s, slow=collect_layers),
            RepeatingTask("bazaar.retention", market.retention_every_s, slow=rounds.remove_bytes),
            RepeatingTask("bazaar.bonds", market.bond_rounds_every_s, slow=rounds.return_bonds),
            RepeatingTask("bazaar.forget_uploads", policy.forget_uploads_every_s, quick=forget_uploads),
        ),
        slow={LOOK: rounds.look, FOLLOW: rounds.follow},
        wakes={FREE: rounds.offer, QUALIFY: rounds.qualify},
        runners=(verification,),
    )


FEATURE = Feature(
    name="bazaar",
    needs=("ledger", "objects", "identity"),
    build=_build,
    work=_work,
    events=events.ALL,
    check_machine=check_machine,
    forget=lambda base, tx, owner: base.of(Bazaar).forget(tx, owner),
    unfreezing=lambda base, tx, account: base.of(Bazaar).disputes.collecting(tx, account),
    guard_hold=lambda _, tx, hold: Bazaar.check_not_ours(tx, hold),
)
