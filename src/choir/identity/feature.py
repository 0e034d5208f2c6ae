"""People, agents, delegations, keys and credentials, as a part of a node."""

from __future__ import annotations

from collections.abc import Iterable

from choir.feature import BackgroundWork, Base, Feature, RepeatingTask, Stopping
from choir.foundation.node_key import load_node_secret, load_retired_secrets
from choir.identity import events
from choir.identity.agents.service import Agents
from choir.identity.clusters.service import Clusters
from choir.identity.credentials.challenges import Challenges
from choir.identity.credentials.confirmations import Confirmations
from choir.identity.credentials.logins import Logins
from choir.identity.credentials.nostr import NostrAuth
from choir.identity.credentials.operator_sessions import OperatorSessions
from choir.identity.credentials.passkeys import Passkeys, relying_party
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.recovery import Recovery
from choir.identity.credentials.sessions import Sessions
from choir.identity.credentials.tokens import Tokens
from choir.identity.delegations.service import Delegations
from choir.identity.delegations.spending import Spending
from choir.identity.delegations.transfers import FUNDING, Transfers
from choir.identity.keys.seals import SealerRing
from choir.identity.keys.service import AccountKeys
from choir.identity.keys.signer import LocalSigner
from choir.identity.people.erasure import Erasure
from choir.identity.people.service import People
from choir.identity.policy import DelegationsPolicy, OperatorsPolicy, PeoplePolicy
from choir.identity.repeats import Repeats
from choir.ledger.accounts import Accounts
from choir.ledger.expiry import HoldExpiry
from choir.ledger.policy import LedgerPolicy
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.tasks import Task, keep_place

_FUNDING_AT_ONCE = 20


def _build(base: Base) -> Iterable[object]:
    clock, entropy, policy = base.clock, base.entropy, base.policy
    ledger, accounts, outbox = base.of(Ledger), base.of(Accounts), base.outbox
    rates = Rates(clock, entropy, policy.of(PeoplePolicy))
    challenges = Challenges(rates, clock, entropy, policy.of(PeoplePolicy))
    passkeys = Passkeys(relying_party(base.settings.public_url), challenges, rates, clock, policy.of(PeoplePolicy))
    clusters = Clusters(clock, policy.of(DelegationsPolicy))
    people = People(
        passkeys,
        challenges,
        rates,
        ledger,
        accounts,
        outbox,
        clock,
        entropy,
        policy.of(PeoplePolicy),
        production=base.identity.production,
        policy_hash=base.policy_hash,
        same_identity=lambda tx, a, b: clusters.independence(tx, a, b) == 0,
    )
    delegations = Delegations(clock, entropy, policy.of(DelegationsPolicy))
    spending = Spending(ledger, delegations)
    tokens = Tokens(clock, entropy, policy.of(DelegationsPolicy))
    sealers = SealerRing(lambda: load_node_secret(base.settings), lambda: load_retired_secrets(base.settings))
    account_keys = AccountKeys(sealers, clock, entropy, policy.of(DelegationsPolicy))
    agents = Agents(rates, clock, entropy, policy.of(DelegationsPolicy))
    logins = Logins(tokens, rates, clock, entropy, policy.of(DelegationsPolicy))
    repeats = Repeats(clock, policy.of(DelegationsPolicy))
    return (
        rates,
        challenges,
        passkeys,
        clusters,
        people,
        delegations,
        spending,
        tokens,
        account_keys,
        LocalSigner(account_keys),
        Sessions(clock, entropy, policy.of(PeoplePolicy)),
        Recovery(passkeys, challenges, rates, clock, entropy, policy.of(PeoplePolicy)),
        Erasure(people, accounts, base.of(Objects), outbox, clock, base.forget),
        agents,
        Transfers(people, delegations, accounts, spending, clock, policy.of(DelegationsPolicy)),
        logins,
        Confirmations(logins, agents, delegations, tokens, repeats),
        repeats,
        OperatorSessions(rates, clock, entropy, policy.of(OperatorsPolicy)),
        NostrAuth(delegations, clock, policy.of(DelegationsPolicy)),
    )


def _work(base: Base, _: Stopping) -> BackgroundWork:
    policy = base.policy.of(PeoplePolicy)
    expiry = HoldExpiry(base.clock, base.of(Spending).settle_batch)

    def expire_holds(tx: Tx, _: Task) -> None:
        """Give back what is left in holds whose time is over, and what a delegation may spend again with it."""
        expiry.round(tx)

    def forget(tx: Tx, _: Task) -> None:
        """Drop challenges, sessions and logins whose time is over, old keys and counters, and yesterday's salt."""
        base.of(Challenges).forget(tx)
        base.of(Sessions).forget(tx)
        base.of(Logins).forget(tx)
        base.of(OperatorSessions).forget(tx)
        base.of(Repeats).forget(tx)
        base.of(Rates).forget(tx)

    def forget_used(tx: Tx, _: Task) -> None:
        """Drop signed requests that are too old to be used again."""
        base.of(NostrAuth).forget_used(tx)

    def rewrap(_: Task) -> None:
        """Finish a replacement of the node's key that was cut off: encrypt anew what a former key sealed."""
        base.of(AccountKeys).rewrap_all(base.database)

    def note_funding(tx: Tx, task: Task) -> None:
        """Join an owner who was sent something with whoever most of theirs came from."""
        base.of(Clusters).note_funding(tx, task.key)

    def review_funding(tx: Tx, task: Task) -> None:
        """Look at some of those who were joined so, whether it is still true."""
        after = task.payload.get("after")
        following = base.of(Clusters).review_funding(tx, tuple(after) if after else None, _FUNDING_AT_ONCE)
        keep_place(tx, task, {} if following is None else {"after": list(following)})

    return BackgroundWork(
        quick={FUNDING: note_funding},
        every=(
            RepeatingTask("identity.review_funding", policy.forget_every_s, quick=review_funding),
            RepeatingTask("ledger.expire_holds", base.policy.of(LedgerPolicy).expire_every_s, quick=expire_holds),
            RepeatingTask("identity.forget", policy.forget_every_s, quick=forget),
            RepeatingTask("identity.forget_used", policy.forget_every_s, quick=forget_used),
            RepeatingTask("identity.rewrap", policy.rewrap_every_s, slow=rewrap),
        ),
    )


FEATURE = Feature(name="identity", needs=("ledger", "objects"), build=_build, work=_work, events=events.ALL)
