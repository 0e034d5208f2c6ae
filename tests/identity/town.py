"""All services about people on a fresh database, with a clock that the test moves, and people with real keys."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from choir.foundation.clock import ManualClock, SystemEntropy
from choir.identity import audit
from choir.identity.credentials.challenges import Challenges
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.passkeys import Ceremony, Passkeys, ShownPasskey, relying_party
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.recovery import Recovery
from choir.identity.credentials.sessions import Sessions
from choir.identity.credentials.tries import settled
from choir.identity.model import Principal, person_owner
from choir.identity.people.erasure import Erasure
from choir.identity.people.model import Person
from choir.identity.people.service import GIFTS, People, SignedUp
from choir.identity.policy import PeoplePolicy
from choir.objects.policy import ObjectsPolicy
from choir.objects.service import Objects
from choir.storage.database import Database, Tx
from choir.storage.outbox import Outbox
from tests.identity.authenticator import ORIGIN, Authenticator
from tests.ledger.books import START_US, Books

T = TypeVar("T")
GIFT_CREDIT, GIFT_CHIP = 50_000, 50_000_000


@dataclass
class Citizen:
    """A person and what they hold: an authenticator and a session."""

    town: Town
    handle: str
    person: Person
    authenticator: Authenticator
    token: str

    @property
    def id(self) -> UUID:
        return self.person.id

    @property
    def owner(self) -> str:
        return person_owner(self.id)

    @property
    def who(self) -> Principal:
        return self.town.do(lambda tx: self.town.sessions.principal_of(tx, self.token))

    @property
    def passkeys(self) -> list[bytes]:
        return [row.id for row in self.town.do(lambda tx: self.town.passkeys.of(tx, self.id))]

    def sign_in(self, **spoiled: Any) -> str:
        """Sign in anew; the new session's token."""
        shown = self.town.show(self.authenticator, **spoiled)
        return self.town.do(lambda tx: self.town.sessions.start(tx, shown)).token

    def confirm(self, **spoiled: Any) -> None:
        """Show the session's passkey again."""
        town = self.town
        session = town.do(lambda tx: town.sessions.find(tx, self.token))
        ceremony = town.do(lambda tx: town.passkeys.begin_confirming(tx, session.person, session.passkey))
        answer = self.authenticator.get(ceremony.options, **spoiled)

        def finish(tx: Tx) -> Any:
            shown = town.passkeys.finish_confirming(tx, session.person, session.passkey, ceremony.id, answer)
            return town.sessions.confirm(tx, self.token, shown) if isinstance(shown, ShownPasskey) else shown

        settled(town.database, finish)

    def add_passkey(self, authenticator: Authenticator, name: str = "second") -> bytes:
        town, who = self.town, self.who
        town.clock.advance(1)  # so that it is listed behind the older ones
        ceremony = town.do(lambda tx: town.passkeys.begin_adding(tx, who))
        answer = authenticator.create(ceremony.options)
        return settled(town.database, lambda tx: town.passkeys.finish_adding(tx, who, ceremony.id, answer, name)).id

    def codes(self) -> list[str]:
        who = self.who
        return self.town.do(lambda tx: self.town.recovery.make(tx, who))

    def acts(self) -> list[str]:
        """What the audit says about this person, oldest first."""
        return [act.act for act in reversed(self.town.do(lambda tx: audit.acts(tx, self.owner)))]


@dataclass
class Town:
    """A node's services about people."""

    database: Database
    clock: ManualClock = field(default_factory=lambda: ManualClock(START_US))
    policy: PeoplePolicy = field(default_factory=PeoplePolicy)
    production: bool = True

    def __post_init__(self) -> None:
        clock, entropy, policy = self.clock, SystemEntropy(), self.policy
        self.books = Books(self.database, clock=clock).sign_from_now()
        self.rates = Rates(clock, entropy, policy)
        self.challenges = Challenges(self.rates, clock, entropy, policy)
        self.passkeys = Passkeys(relying_party(ORIGIN), self.challenges, self.rates, clock, policy)
        self.sessions = Sessions(clock, entropy, policy)
        self.recovery = Recovery(self.passkeys, self.challenges, self.rates, clock, entropy, policy)
        self.objects = Objects(clock, ObjectsPolicy())
        self.outbox = Outbox(clock, entropy)
        self.people = People(
            self.passkeys, self.challenges, self.rates, self.books.ledger, self.books.accounts, self.outbox,
            clock, entropy, policy, production=self.production,
        )  # fmt: skip
        self.erasure = Erasure(self.people, self.books.accounts, self.objects, self.outbox, clock)
        self._addresses = (f"10.{a}.{b}.1" for a, b in itertools.product(range(256), range(256)))

    def do(self, work: Callable[[Tx], T]) -> T:
        return self.database.run(work)

    def address(self) -> str:
        """One that nobody came from before."""
        return next(self._addresses)

    def begin(self, handle: str, address: str | None = None) -> Ceremony:
        where = address or self.address()
        return self.do(lambda tx: self.people.begin_sign_up(tx, handle, where))

    def finish(self, ceremony: UUID, answer: dict[str, Any], name: str = "phone") -> SignedUp:
        return settled(self.database, lambda tx: self.people.finish_sign_up(tx, ceremony, answer, name))

    def sign_up(self, handle: str, address: str | None = None) -> Citizen:
        authenticator = Authenticator()
        ceremony = self.begin(handle, address)
        done = self.finish(ceremony.id, authenticator.create(ceremony.options))
        token = self.do(lambda tx: self.sessions.start(tx, done.shown)).token
        return Citizen(self, handle, done.person, authenticator, token)

    def show(self, authenticator: Authenticator, **spoiled: Any) -> ShownPasskey:
        """Sign in with the last passkey of an authenticator."""
        address = self.address()
        ceremony = self.do(lambda tx: self.passkeys.begin_sign_in(tx, address))
        answer = authenticator.get(ceremony.options, **spoiled)
        return settled(self.database, lambda tx: self.passkeys.finish_sign_in(tx, ceremony.id, answer))

    def person(self, id_: UUID) -> Person:
        return self.do(lambda tx: self.people.get(tx, id_))

    def count(self, table: str) -> int:
        return self.do(lambda tx: int(tx.value(f"select count(*) from {table}")))

    def gifts(self) -> list[str]:
        """The keys of all gifts."""
        rows = self.do(lambda tx: tx.rows("select key from entries where source = %s order by key", GIFTS))
        return [row[0] for row in rows]

    def check(self) -> None:
        """Every person has exactly one gift, nobody else has one, and the ledger verifies."""
        people = self.do(lambda tx: [row[0] for row in tx.rows("select id from people")])
        assert self.gifts() == sorted(f"signup:{person_owner(id_).removeprefix('person:')}" for id_ in people)
        self.books.check()
        if people:
            assert self.books.balance(f"{GIFTS}/issuance/CREDIT") == -GIFT_CREDIT * len(people)
            assert self.books.balance(f"{GIFTS}/issuance/CHIP") == -GIFT_CHIP * len(people)

    def close(self) -> None:
        self.books.close()


def refused(work: Callable[[], object]) -> BadCredential:
    """The refusal of a credential."""
    try:
        work()
    except BadCredential as refusal:
        return refusal
    raise AssertionError("it was accepted")
