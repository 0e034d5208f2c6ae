"""Erasing a person: everything that names them goes, everything that others rely on stays.

Guarantees: afterwards the handle, passkeys, sessions, recovery codes and given names are gone, with the memos
beside what they paid or were paid, and the account's secret keys are destroyed; nobody can sign in as that person
or take their handle; what they delegated is revoked. The journal is not touched: it never held personal data, so it
verifies as before. Balances stay where they are, on accounts that are frozen: an entry that emptied them would have
to invent who is owed the money. Features that stand above identity are asked to forget the owner too. All of it
happens in one transaction, or none.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from choir.foundation.clock import Clock
from choir.identity import audit, events
from choir.identity.model import Principal, agent_owner, person_owner
from choir.identity.people import store
from choir.identity.people.model import UnknownPerson
from choir.identity.people.service import People
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.memos import erase_memos
from choir.ledger.model import CLAIM, account_name
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

_REASON = "the person was erased"
_PAGE = 500
_MOVED_BY_RULES = (CLAIM, "vesting", "stake")  # roles of accounts that stay open

Forget = Callable[[Tx, str], None]  # what else is known of an owner


class Erasure:
    """The one use case, and its parts."""

    def __init__(
        self,
        people: People,
        accounts: Accounts,
        objects: Objects,
        outbox: Outbox,
        clock: Clock,
        forget: Forget = lambda _tx, _owner: None,
    ) -> None:
        self._people = people
        self._forget = forget
        self._accounts = accounts
        self._objects = objects
        self._outbox = outbox
        self._clock = clock

    def erase_self(self, tx: Tx, who: Principal) -> None:
        """Erase the caller, who must have shown a passkey just now."""
        person = who.must_be_person()
        who.must_be_fresh(self._clock.now_us())
        self.erase(tx, person, actor=who.source)

    def erase(self, tx: Tx, id_: UUID, *, actor: str) -> bool:
        """Erase a person; False if they were erased before. Whether the actor may is for the caller to know."""
        person = store.lock_person(tx, id_)
        if person is None:
            raise UnknownPerson(person=person_owner(id_))
        if person.erased_us is not None:
            return False
        now_us = self._clock.now_us()
        owners = [person.owner, *(agent_owner(agent) for agent in store.agents(tx, id_))]
        for owner in owners:  # before anything else is locked: jobs come before delegations, and both before the ledger
            self._forget(tx, owner)
        self._people.retire(tx, person)
        store.delete_credentials(tx, id_)
        store.end_delegated(tx, id_, now_us)
        store.destroy_secrets(tx, owners, now_us)
        store.forget_repeats(tx, owners)
        for owner in owners:
            self._give_up_objects(tx, owner)
        audit.record(tx, "person.erased", at_us=now_us, actor=actor, owner=person.owner)
        self._outbox.announce(tx, events.ERASED, subject=person.owner, actor=actor, data={})
        looked_at = queries.head(tx).seq
        erase_memos(tx, owners)
        for owner in owners:
            self._freeze(tx, owner)
        erase_memos(tx, owners, after_seq=looked_at)  # of what was paid to them until the accounts were frozen
        return True

    def _give_up_objects(self, tx: Tx, owner: str) -> None:
        """Let go of all claims; an object itself stays while anything else points to it."""
        while names := self._objects.claimed(tx, owner, limit=_PAGE):
            for name in names:
                self._objects.erase(tx, owner, name)

    def _freeze(self, tx: Tx, owner: str) -> None:
        """Stop the accounts, but for claims and what vests, which rules go on with; nobody can spend from these.

        This takes the ledger's lock, so it comes last.
        """
        after = ""
        while page := queries.accounts(tx, prefix=f"{owner}/", after=after, limit=_PAGE):
            for account in page:
                if account.state == "open" and account_name(account.name).role not in _MOVED_BY_RULES:
                    self._accounts.freeze(tx, account.name, reason=_REASON, source="system:erasing")
            after = page[-1].name
