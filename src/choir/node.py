"""The composition root: builds every feature of a node from its settings, in one place.

A process that serves, a command-line tool that opens the database and a test all build the same node. A service is
asked for by its type, `node.of(Jobs)`; those that every room stands on also have a short name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from choir.bazaar.composition import Bazaar
from choir.commons.composition import Commons
from choir.feature import Base, load_features
from choir.features import FEATURES
from choir.foundation.clock import Clock, Entropy, SystemClock, SystemEntropy
from choir.foundation.policy import load
from choir.foundation.settings import Settings
from choir.identity.agents.service import Agents
from choir.identity.clusters.service import Clusters
from choir.identity.credentials.challenges import Challenges
from choir.identity.credentials.logins import Logins
from choir.identity.credentials.nostr import NostrAuth
from choir.identity.credentials.passkeys import Passkeys
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.recovery import Recovery
from choir.identity.credentials.sessions import Sessions
from choir.identity.credentials.tokens import Tokens
from choir.identity.delegations.service import Delegations
from choir.identity.delegations.spending import Spending
from choir.identity.delegations.transfers import Transfers
from choir.identity.keys.service import AccountKeys
from choir.identity.keys.signer import LocalSigner
from choir.identity.people.erasure import Erasure
from choir.identity.people.service import People
from choir.identity.repeats import Repeats
from choir.ledger.accounts import Accounts
from choir.ledger.checkpoints import Checkpoints
from choir.ledger.claims import Claims
from choir.ledger.exporter import Exporter
from choir.ledger.funding import Funding
from choir.ledger.issuances.service import Issuances
from choir.ledger.journal.submitter import AsyncSubmitter, Submitter
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities.service import Liabilities
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.policies import default_policy
from choir.storage.database import Database
from choir.storage.identity import clock_offset, read_identity

S = TypeVar("S")


class _Service(Generic[S]):
    """A short name for a service that is asked for often."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind

    def __get__(self, node: Base, _: type[Base]) -> S:
        return node.of(self._kind)


class Node(Base):
    """All services of a node on one database."""

    ledger = _Service(Ledger)
    submitter = _Service(Submitter)
    async_submitter = _Service(AsyncSubmitter)
    accounts = _Service(Accounts)
    claims = _Service(Claims)
    keys = _Service(NodeKeys)
    checkpoints = _Service(Checkpoints)
    exporter = _Service(Exporter)
    issuances = _Service(Issuances)
    liabilities = _Service(Liabilities)
    funding = _Service(Funding)
    objects = _Service(Objects)
    rates = _Service(Rates)
    challenges = _Service(Challenges)
    passkeys = _Service(Passkeys)
    sessions = _Service(Sessions)
    recovery = _Service(Recovery)
    people = _Service(People)
    erasure = _Service(Erasure)
    agents = _Service(Agents)
    delegations = _Service(Delegations)
    spending = _Service(Spending)
    transfers = _Service(Transfers)
    tokens = _Service(Tokens)
    logins = _Service(Logins)
    repeats = _Service(Repeats)
    account_keys = _Service(AccountKeys)
    account_signer = _Service(LocalSigner)
    nostr_auth = _Service(NostrAuth)
    clusters = _Service(Clusters)
    bazaar = _Service(Bazaar)
    commons = _Service(Commons)


def build_node(
    settings: Settings, database: Database, entropy: Entropy | None = None, features: Sequence[str] = FEATURES
) -> Node:
    """A node on an open, migrated and prepared database."""
    with database.unit_of_work() as tx:
        identity = read_identity(tx)
    clock: Clock = SystemClock(clock_offset(identity, database))
    policy = load(default_policy(features), settings.policy_overrides)
    return Node(settings, policy, identity, clock, entropy or SystemEntropy(), database, load_features(features))
