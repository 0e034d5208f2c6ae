"""The ledger, as a part of a node: its services, and what it does by itself."""

from __future__ import annotations

from collections.abc import Iterable

from choir.feature import BackgroundWork, Base, Explanation, Feature, Gauge, RepeatingTask, Stopping
from choir.foundation.node_key import load_node_secret
from choir.ledger import explanation, queries
from choir.ledger.accounts import Accounts
from choir.ledger.checkpoints import Checkpoints
from choir.ledger.claims import Claims
from choir.ledger.exporter import Exporter
from choir.ledger.funding import Funding
from choir.ledger.issuances.service import Issuances
from choir.ledger.journal.submitter import AsyncSubmitter, Submitter
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities.publication import LiabilityPublication, schedule_publication
from choir.ledger.liabilities.service import Liabilities
from choir.ledger.model import parse_entry_id
from choir.ledger.policy import IssuingPolicy, LedgerPolicy
from choir.ledger.publication import publish_checkpoint
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.storage.tasks import Task


def _build(base: Base) -> Iterable[object]:
    clock, entropy, policy = base.clock, base.entropy, base.policy
    ledger = Ledger(clock, entropy, policy.of(LedgerPolicy))
    base.database.when_connected(ledger.appender.forget_accounts)
    keys = NodeKeys(base.identity.origin, lambda: load_node_secret(base.settings).signer(), clock)
    submitter = Submitter(ledger.appender, base.database)
    accounts = Accounts(clock, policy.of(LedgerPolicy))
    checkpoints = Checkpoints(keys, clock)
    return (
        ledger,
        submitter,
        AsyncSubmitter(ledger.appender, submitter),
        accounts,
        Claims(ledger, accounts),
        keys,
        checkpoints,
        Exporter(keys, checkpoints),
        Issuances(ledger, accounts, clock, entropy, policy.of(IssuingPolicy), policy_hash=base.policy_hash),
        Liabilities(
            base.database,
            keys,
            checkpoints,
            clock,
            entropy,
            policy.of(LedgerPolicy),
            lambda: load_node_secret(base.settings),
        ),
        Funding(accounts, production=base.identity.production),
    )


def _close(base: Base) -> None:
    base.of(AsyncSubmitter).close()
    base.of(Submitter).close()


def _work(base: Base, stopping: Stopping) -> BackgroundWork:
    """Holds expire in `spending`, which gives back what a delegation may spend again: identity does that."""
    checkpoints = base.of(Checkpoints)

    def checkpoint(_: Task) -> None:
        """Keep tiles in bounded transactions, then sign what is new and publish it."""
        more = True
        while more:
            with base.unit_of_work() as tx:
                more = checkpoints.keep_tiles(tx)
        with base.unit_of_work() as tx:
            signed = checkpoints.sign(tx)
        publish_checkpoint(base.settings.home, signed.note)

    return BackgroundWork(
        every=(RepeatingTask("ledger.checkpoint", base.policy.of(LedgerPolicy).checkpoint_s, slow=checkpoint),),
        runners=(LiabilityPublication(base, stopping),),
        schedule=lambda tx, now_us: schedule_publication(tx, now_us, base.policy.of(LedgerPolicy).liabilities_every_s),
    )


def _explain(_: Base, tx: Tx, id_: str) -> Explanation:
    return explanation.explain_entry(tx, parse_entry_id(id_))


FEATURE = Feature(
    name="ledger",
    needs=("storage",),
    build=_build,
    close=_close,
    work=_work,
    explains={"entry": _explain},
    gauges=(Gauge("choir_ledger_entries", "Entries in the journal.", lambda _, tx: queries.head(tx).seq),),
)
