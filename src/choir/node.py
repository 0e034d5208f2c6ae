"""The composition root: builds every part of a node from its settings, in one place.

A process that serves, a command-line tool that opens the database and a test all build the same node.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from choir.bazaar.assembling import Bazaar, Parts, assemble
from choir.foundation.clock import Clock, Entropy, SystemClock, SystemEntropy
from choir.foundation.node_key import load_node_secret, load_retired_secrets
from choir.foundation.policy import Policy, effective_hash, load
from choir.foundation.settings import Settings
from choir.identity.agents import Agents
from choir.identity.challenges import Challenges
from choir.identity.clusters import Clusters
from choir.identity.delegations import Delegations
from choir.identity.erasing import Erasing
from choir.identity.keys import AccountKeys
from choir.identity.logins import Logins
from choir.identity.nostr import NostrAuth
from choir.identity.passkeys import Passkeys, relying_party
from choir.identity.people import People
from choir.identity.rates import Rates
from choir.identity.recovery import Recovery
from choir.identity.repeats import Repeats
from choir.identity.sealing import SealerRing
from choir.identity.sessions import Sessions
from choir.identity.signer import AccountSigner, LocalSigner
from choir.identity.spending import Spending
from choir.identity.tokens import Tokens
from choir.identity.transfers import Transfers
from choir.ledger.accounts import Accounts
from choir.ledger.checkpoints import Checkpoints
from choir.ledger.exporting import Exporter
from choir.ledger.funding import Funding
from choir.ledger.issuing.service import Issuing
from choir.ledger.keys import NodeKeys
from choir.ledger.liabilities.service import Liabilities
from choir.ledger.service import Ledger
from choir.ledger.submitting import Submitter
from choir.ledger.submitting_async import AsyncSubmitter
from choir.objects.service import Objects
from choir.storage.database import Database, Tx
from choir.storage.identity import NodeIdentity, clock_offset, read_identity
from choir.storage.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Node:
    """All services of a node on one database."""

    settings: Settings
    policy: Policy
    identity: NodeIdentity
    clock: Clock
    entropy: Entropy
    database: Database
    ledger: Ledger
    submitter: Submitter
    async_submitter: AsyncSubmitter
    accounts: Accounts
    keys: NodeKeys
    checkpoints: Checkpoints
    exporter: Exporter
    issuing: Issuing
    liabilities: Liabilities
    funding: Funding
    objects: Objects
    outbox: Outbox
    rates: Rates
    challenges: Challenges
    passkeys: Passkeys
    sessions: Sessions
    recovery: Recovery
    people: People
    erasing: Erasing
    agents: Agents
    delegations: Delegations
    spending: Spending
    transfers: Transfers
    tokens: Tokens
    logins: Logins
    repeats: Repeats
    account_keys: AccountKeys
    account_signer: AccountSigner
    nostr_auth: NostrAuth
    clusters: Clusters
    bazaar: Bazaar

    def unit_of_work(self) -> AbstractContextManager[Tx]:
        """A transaction for one use case."""
        return self.database.unit_of_work()

    def close(self) -> None:
        self.async_submitter.close()
        self.submitter.close()
        self.database.close()


def build_node(settings: Settings, database: Database, entropy: Entropy | None = None) -> Node:
    """A node on an open, migrated and prepared database."""
    policy = load(Policy(), settings.policy_overrides)
    entropy = entropy or SystemEntropy()
    with database.unit_of_work() as tx:
        identity = read_identity(tx)
    clock: Clock = SystemClock(clock_offset(identity, database))
    ledger = Ledger(clock, entropy, policy.ledger)
    database.when_connected(ledger.forget_accounts)
    keys = NodeKeys(identity.origin, lambda: load_node_secret(settings).signer(), clock)
    submitter = Submitter(ledger, database)
    accounts = Accounts(clock, policy.ledger)
    checkpoints = Checkpoints(keys, clock)
    objects = Objects(clock, policy.objects)
    outbox = Outbox(clock, entropy)
    rates = Rates(clock, entropy, policy.people)
    challenges = Challenges(rates, clock, entropy, policy.people)
    passkeys = Passkeys(relying_party(settings.public_url), challenges, rates, clock, policy.people)
    clusters = Clusters(clock, policy.delegations)
    people = People(
        passkeys,
        challenges,
        rates,
        ledger,
        accounts,
        outbox,
        clock,
        entropy,
        policy.people,
        policy_hash=effective_hash(policy),
        same_identity=lambda tx, a, b: clusters.independence(tx, a, b) == 0,
    )
    delegations = Delegations(clock, entropy, policy.delegations)
    spending = Spending(ledger, delegations)
    tokens = Tokens(clock, entropy, policy.delegations)
    sealers = SealerRing(lambda: load_node_secret(settings), lambda: load_retired_secrets(settings))
    account_keys = AccountKeys(sealers, clock, entropy, policy.delegations)
    parts = Parts(
        ledger=ledger,
        accounts=accounts,
        spending=spending,
        objects=objects,
        keys=keys,
        clusters=clusters,
        outbox=outbox,
        clock=clock,
        entropy=entropy,
        policy=policy,
        policy_hash=effective_hash(policy),
    )
    bazaar = assemble(parts, production=identity.production)
    return Node(
        settings=settings,
        policy=policy,
        identity=identity,
        clock=clock,
        entropy=entropy,
        database=database,
        ledger=ledger,
        submitter=submitter,
        async_submitter=AsyncSubmitter(ledger, submitter),
        accounts=accounts,
        keys=keys,
        checkpoints=checkpoints,
        exporter=Exporter(keys, checkpoints),
        issuing=Issuing(ledger, accounts, clock, entropy, policy.issuing, policy_hash=effective_hash(policy)),
        liabilities=Liabilities(
            database, keys, checkpoints, clock, entropy, policy.ledger, lambda: load_node_secret(settings)
        ),
        funding=Funding(accounts, production=identity.production),
        objects=objects,
        outbox=outbox,
        rates=rates,
        challenges=challenges,
        passkeys=passkeys,
        sessions=Sessions(clock, entropy, policy.people),
        recovery=Recovery(passkeys, challenges, rates, clock, entropy, policy.people),
        people=people,
        erasing=Erasing(people, accounts, objects, outbox, clock, bazaar.forget),
        agents=Agents(rates, clock, entropy, policy.delegations),
        delegations=delegations,
        spending=spending,
        transfers=Transfers(people, delegations, accounts, spending, clock, policy.delegations),
        tokens=tokens,
        logins=Logins(tokens, rates, clock, entropy, policy.delegations),
        repeats=Repeats(clock, policy.delegations),
        account_keys=account_keys,
        account_signer=LocalSigner(account_keys),
        nostr_auth=NostrAuth(delegations, clock, policy.delegations),
        clusters=clusters,
        bazaar=bazaar,
    )
