"""People, agents and a ledger on a fresh database, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy, SystemEntropy
from choir.foundation.signing import NodeSecret
from choir.identity.agents.model import Agent
from choir.identity.agents.service import Agents
from choir.identity.clusters.service import Clusters
from choir.identity.credentials.nostr import NostrAuth
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.tokens import Tokens
from choir.identity.delegations.model import Cap, Delegation, Period
from choir.identity.delegations.rules import new_id
from choir.identity.delegations.service import Delegations
from choir.identity.delegations.spending import Spending
from choir.identity.keys.seals import SealerRing
from choir.identity.keys.service import AccountKeys
from choir.identity.keys.signer import LocalSigner
from choir.identity.model import ALL_SCOPES, Principal, Role, Scope, person_owner
from choir.identity.policy import DelegationsPolicy, PeoplePolicy
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.model import Draft, Leg, Posted
from choir.ledger.policy import LedgerPolicy
from choir.ledger.service import Ledger
from choir.storage.database import Database, Tx
from choir.storage.identity import make_identity

START_US = 1_800_000_000 * MICROSECONDS  # Friday, 15 January 2027, 08:00 UTC
DAY_S = 86_400
SECRET = NodeSecret(b"\x07" * 32)
SHOP = "treasury:main/fees/CREDIT"
ISSUANCE = "system:main/issuance/CREDIT"


def cap(amount: int, period: Period = Period.DAY, asset: str = "CREDIT") -> Cap:
    return Cap(asset, period, amount)


def session(person: UUID, fresh_until_us: int = 2**62) -> Principal:
    """A person who signed in with a passkey just now."""
    source = person_owner(person)
    return Principal(
        Role.PERSON, source, person=person, scopes=ALL_SCOPES, fresh_until_us=fresh_until_us, credential="session"
    )


@dataclass
class Agency:
    """The services, with a transaction around each call."""

    database: Database
    clock: ManualClock = field(default_factory=lambda: ManualClock(START_US))
    policy: DelegationsPolicy = field(default_factory=DelegationsPolicy)
    secret: NodeSecret = SECRET
    retired: list[NodeSecret] = field(default_factory=list)
    seed: int | None = 1
    people: int = 0

    def __post_init__(self) -> None:
        self.entropy = SystemEntropy() if self.seed is None else SeededEntropy(self.seed)
        self.agents = Agents(Rates(self.clock, self.entropy, PeoplePolicy()), self.clock, self.entropy, self.policy)
        self.delegations = Delegations(self.clock, self.entropy, self.policy)
        self.tokens = Tokens(self.clock, self.entropy, self.policy)
        self.sealers = SealerRing(lambda: self.secret, lambda: self.retired)
        self.keys = AccountKeys(self.sealers, self.clock, self.entropy, self.policy)
        self.signer = LocalSigner(self.keys)
        self.nostr = NostrAuth(self.delegations, self.clock, self.policy)
        self.clusters = Clusters(self.clock, self.policy)
        self.ledger = Ledger(self.clock, self.entropy, LedgerPolicy())
        self.accounts = Accounts(self.clock, LedgerPolicy())
        self.spending = Spending(self.ledger, self.delegations)

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.database.unit_of_work() as tx:
            yield tx

    def open_books(self) -> None:
        with self.tx() as tx:
            make_identity(tx.connection, "dev", self.clock, self.entropy)
            self.accounts.open(tx, [SHOP, ISSUANCE], reason="a test", source="test")

    def person(self) -> UUID:
        self.people += 1
        id_ = new_id(self.clock.now_us(), self.entropy.bytes(8))
        with self.tx() as tx:
            tx.run(
                "insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, %s)",
                id_, f"person{self.people}", self.entropy.bytes(32), self.clock.now_us(),
            )  # fmt: skip
        return id_

    def erase(self, person: UUID) -> None:
        with self.tx() as tx:
            tx.run("update people set erased_us = %s, handle = null where id = %s", self.clock.now_us(), person)

    def agent(self, person: UUID, name: str = "scout") -> Agent:
        with self.tx() as tx:
            return self.agents.create(tx, person, name)

    def grant(
        self,
        person: UUID,
        agent: UUID,
        *caps: Cap,
        scopes: Iterable[Scope] = (Scope.READ, Scope.BUY),
        seconds: float = 10 * DAY_S,
    ) -> Delegation:
        with self.tx() as tx:
            return self.delegations.grant(
                tx, person, agent, scopes=set(scopes), caps=caps, expires_us=self.later(seconds)
            )

    def narrow(
        self,
        parent: Delegation,
        agent: UUID,
        *caps: Cap,
        by: Principal | None = None,
        scopes: Iterable[Scope] = (Scope.BUY,),
        seconds: float = 5 * DAY_S,
    ) -> Delegation:
        with self.tx() as tx:
            return self.delegations.narrow(
                tx,
                by or session(parent.person),
                parent.id,
                agent,
                scopes=set(scopes),
                caps=caps,
                expires_us=self.later(seconds),
            )

    def revoke(self, delegation: Delegation, by: Principal | None = None) -> None:
        with self.tx() as tx:
            self.delegations.revoke(tx, by or session(delegation.person), delegation.id)

    def principal(self, delegation: UUID) -> Principal:
        with self.tx() as tx:
            return self.delegations.principal_of(tx, delegation)

    def spend(self, principal: Principal, amount: int, asset: str = "CREDIT") -> int:
        with self.tx() as tx:
            return self.delegations.spend(tx, principal, asset, amount)

    def spent(self, delegation: UUID, period: Period = Period.DAY, asset: str = "CREDIT") -> int:
        with self.tx() as tx:
            for state in self.delegations.usage(tx, delegation):
                if (state.asset, state.period) == (asset, period):
                    return state.spent
        raise AssertionError("there is no such cap")

    def later(self, seconds: float) -> int:
        return self.clock.now_us() + int(seconds * MICROSECONDS)

    def fund(self, owner: str, amount: int, role: str = "available") -> str:
        """Open an account of an owner and put something in."""
        name = f"{owner}/{role}/CREDIT"
        with self.tx() as tx:
            self.accounts.open(tx, [name], reason="a test", source="test")
            if amount:
                self.ledger.post(tx, paid(f"fund {name}", ISSUANCE, name, amount))
        return name

    def pay(self, principal: Principal, *drafts: Draft) -> list[Posted]:
        with self.tx() as tx:
            return self.spending.spend_and_post(tx, principal, drafts)

    def settle(self, *drafts: Draft) -> list[Posted]:
        with self.tx() as tx:
            return self.spending.settle(tx, *drafts)

    def balance(self, account: str) -> int:
        with self.tx() as tx:
            return queries.balance(tx, account).balance

    def head(self) -> int:
        with self.tx() as tx:
            return queries.head(tx).seq


def paid(key: str, from_: str, to: str, amount: int, source: str = "test") -> Draft:
    return Draft("transfer", "because", source, key, (Leg(from_, to, amount),))


def placed(key: str, payer: str, amount: int, expires_us: int, source: str = "test", captures: int = 1) -> Draft:
    return holds.place(payer, amount, expires_us=expires_us, captures=captures, reason="a job", source=source, key=key)
