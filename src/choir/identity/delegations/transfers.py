"""Sending what may move between people and agents.

Which assets may: USDC and SAT freely, AID between agents; CREDIT never, for it pays for scrutiny and would
else be a market of its own; CHIP not yet, since only vested CHIP may and nothing vests so far; USD stands for
what a card paid and is nobody's to pass on.

Guarantees: an agent's transfer is charged to its delegation's caps in the same transaction; the receiver
exists, also at its end; the same key has one effect, and no text that somebody chose stands in the journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import Invalid
from choir.foundation.money import Asset
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import AgentRetired, UnknownAgent, agent_id
from choir.identity.delegations import rules as delegation_rules
from choir.identity.delegations.model import NotTransferable, NotYourAccount
from choir.identity.delegations.service import Delegations
from choir.identity.delegations.spending import Spending
from choir.identity.model import Principal, Scope, owner_id
from choir.identity.people import store as people_store
from choir.identity.people.model import UnknownPerson
from choir.identity.people.service import People
from choir.identity.policy import DelegationsPolicy
from choir.ledger.accounts import Accounts
from choir.ledger.model import Draft, Leg, Posted
from choir.storage.database import Tx
from choir.storage.tasks import schedule

FUNDING = "identity.funding"  # a task: see from whom an owner's satoshi came

_FREELY = frozenset({Asset.USDC, Asset.SAT})
_WHY_NOT = {
    Asset.CREDIT: "it never moves between people",
    Asset.CHIP: "only vested CHIP can move, and none is vested yet",
    Asset.USD: "it stands for what a card or PayPal paid",
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is asked for: owners of accounts, or a handle as the receiver."""

    to: str
    asset: str
    amount: int
    from_: str | None = None  # None: whoever asks
    memo: str | None = None


@dataclass(frozen=True, slots=True)
class TransferResult:
    """What moved between which accounts."""

    posted: Posted
    from_: str
    to: str


class Transfers:
    """The one use case."""

    def __init__(
        self,
        people: People,
        delegations: Delegations,
        accounts: Accounts,
        spending: Spending,
        clock: Clock,
        policy: DelegationsPolicy,
    ) -> None:
        self._clock = clock
        self._look_after_us = policy.cluster_funding_after_s * MICROSECONDS
        self._people = people
        self._delegations = delegations
        self._accounts = accounts
        self._spending = spending

    def send(self, tx: Tx, who: Principal, asked: Transfer, key: str) -> TransferResult:
        """Move it, or refuse."""
        who.must(Scope.BUY)
        asset = Asset.of(asked.asset)
        payer = who.source if asked.from_ is None else asked.from_
        payer_kind, _ = owner_id(payer)
        payee = self._receiver(tx, asked.to)
        check_movable(asset, payer_kind, owner_id(payee)[0])
        if payer == payee:
            raise Invalid(what="The receiver", why="it is the sender")
        from_, to = f"{payer}/available/{asset.name}", f"{payee}/available/{asset.name}"
        leg = Leg(from_, to, asked.amount)
        # The key is whatever its caller wrote, maybe a name; the journal keeps it for good, so only a commitment to it.
        committed = f"transfer:{self._people.commitment(tx, who.source, key)}"
        draft = Draft("transfer", "a transfer", who.source, committed, (leg,), memo=asked.memo)
        if payer not in delegation_rules.owners(who):
            raise NotYourAccount(account=from_)
        self._delegations.lock(tx, who)  # before the ledger's head, which opening an account takes
        if asset is Asset.SAT:  # who funds whom is looked at some time later, once for many transfers
            schedule(tx, FUNDING, payee, self._clock.now_us() + self._look_after_us)
        self._accounts.open(tx, [from_, to], reason="a transfer", source=who.source)
        [posted] = self._spending.spend_and_post(tx, who, [draft])
        return TransferResult(posted, from_, to)

    def _receiver(self, tx: Tx, to: str) -> str:
        """The owner of accounts behind a handle or an owner's own name, who must be there and stays.

        Else an account could be opened for somebody whose others were frozen a moment ago, as they were erased.
        """
        owner = to if ":" in to else self._people.by_handle(tx, to).owner
        kind, id_ = owner_id(owner)
        if kind == "agent":
            _check_agent(tx, id_)
        elif not people_store.stays(tx, id_):
            raise UnknownPerson(person=to)
        return owner


def check_movable(asset: Asset, payer_kind: str, payee_kind: str) -> None:
    """Raise unless this asset may go from such an owner to such an owner."""
    if asset in _FREELY:
        return
    if asset is not Asset.AID:
        raise NotTransferable(asset=asset.name, why=_WHY_NOT[asset])
    if (payer_kind, payee_kind) != ("agent", "agent"):
        raise NotTransferable(asset=asset.name, why="it moves between agents only")


def _check_agent(tx: Tx, id_: UUID) -> None:
    agent = agent_store.shared(tx, id_)
    if agent is None:
        raise UnknownAgent(agent=agent_id(id_))
    if agent.retired_us is not None:
        raise AgentRetired(agent=agent_id(id_))
