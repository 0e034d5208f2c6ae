"""Putting up a bond, adding to it, asking for it back, and using it for a security dispute.

Guarantees: what a bond is said to be is what is on its account; it moves in the caller's transaction, once for each key
or act; it goes back only when nobody can need it any more, that is, after the last dispute about its provider's work
was decided and the last time for one has passed. A bond that is too small or asked back counts for no tier.
Locks: the provider's market row, the bond's row, the ledger's head.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.bazaar.bonds import store
from choir.bazaar.bonds.model import BadBond, Bond, BondLeaving, NoBond, bond_account
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import SOURCE
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.providers import store as provider_store
from choir.bazaar.providers.model import Provider, provider_id
from choir.bazaar.providers.records import Records
from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.money import Asset
from choir.identity.delegations.spending import Spending
from choir.identity.model import Principal, Scope
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.model import Draft, Leg
from choir.ledger.service import Ledger
from choir.storage.database import Tx

_KIND = "bazaar.bond"
_MOST = 10**12


class Bonds:
    """Use cases of bonds; all inside the caller's transaction."""

    def __init__(
        self,
        records: Records,
        spending: Spending,
        ledger: Ledger,
        accounts: Accounts,
        claims: Claims,
        clock: Clock,
        policy: BazaarPolicy,
    ) -> None:
        self._records = records
        self._spending = spending
        self._ledger = ledger
        self._accounts = accounts
        self._claims = claims
        self._clock = clock
        self._policy = policy

    @staticmethod
    def get(tx: Tx, provider: UUID) -> Bond | None:
        return store.get(tx, provider)

    def exposed_until(self, tx: Tx, provider: UUID) -> int | None:
        """Until when somebody may need the bond; None: that is open. A time in which the node was away does not run."""
        window_us = self._policy.security_dispute_s * MICROSECONDS
        until_us = store.exposed_until(tx, provider, window_us)
        if not until_us:
            return until_us
        return until_us + job_store.away_since(tx, until_us - window_us)

    def add(self, tx: Tx, who: Principal, provider: Provider, amount: int, key: str) -> Bond:
        """Put up a bond or add to it. The same key adds once."""
        who.must(Scope.SELL)
        bond = self._locked(tx, provider.id)
        entry_key = f"bond:{key}"
        if queries.posted_keys(tx, [(who.source, entry_key)]):
            return bond
        if bond.release_asked_us is not None:
            raise BondLeaving(provider=provider_id(provider.id))
        if amount <= 0 or bond.amount + amount > _MOST:
            raise BadBond(amount=Asset.SAT.format(amount), high=Asset.SAT.format(_MOST))
        bond = self._save(tx, replace(bond, amount=bond.amount + amount))
        available = _available(provider.owner)
        names = [available, bond_account(available)]
        self._accounts.open(tx, names, reason="puts up a bond", source=SOURCE)
        leg = Leg(names[0], names[1], amount)
        draft = Draft(_KIND, "the bond of a provider", who.source, entry_key, (leg,), refs=(provider_id(provider.id),))
        self._spending.spend_and_post(tx, who, [draft])
        return bond

    def ask_back(self, tx: Tx, who: Principal, provider: Provider) -> Bond:
        """Ask for the bond: from now on it counts for no tier. It goes back at once if nobody can need it."""
        who.must(Scope.SELL)
        bond = self._locked(tx, provider.id)
        if not bond.amount:
            raise NoBond(provider=provider_id(provider.id))
        if bond.release_asked_us is None:
            bond = self._save(tx, replace(bond, release_asked_us=self._clock.now_us()))
        return self._give_back(tx, provider, bond)

    def keep(self, tx: Tx, who: Principal, provider: Provider) -> Bond:
        """Take back that it was asked for."""
        who.must(Scope.SELL)
        bond = self._locked(tx, provider.id)
        if bond.release_asked_us is None:
            return bond
        return self._save(tx, replace(bond, release_asked_us=None))

    def leaving(self, tx: Tx, limit: int) -> list[UUID]:
        """Providers that wait for their bond."""
        return store.leaving(tx, limit)

    def give_back(self, tx: Tx, id_: UUID) -> Bond:
        """Return a bond that was asked for, if nobody can need it any more."""
        provider = provider_store.get(tx, id_)
        assert provider is not None
        return self._give_back(tx, provider, self._locked(tx, id_))

    def forget(self, tx: Tx, owner: str) -> None:
        """The owner is erased: the bond leaves as if it had been asked for."""
        provider = provider_store.of_owner(tx, owner)
        if provider is None:
            return
        bond = self._locked(tx, provider.id)
        if bond.amount and bond.release_asked_us is None:
            self._save(tx, replace(bond, release_asked_us=self._clock.now_us()))

    def use(self, tx: Tx, id_: UUID, wanted: int) -> int:
        """Take so much of a bond for a buyer, or what there is; the caller posts it. Before the ledger's head."""
        bond = self._locked(tx, id_)
        provider = provider_store.get(tx, id_)
        assert provider is not None
        account = bond_account(_available(provider.owner))
        taken = min(bond.amount, wanted)
        if not taken or not queries.open_among(tx, [account]):
            return 0
        self._save(tx, replace(bond, amount=bond.amount - taken))
        return taken

    # Inside

    def _give_back(self, tx: Tx, provider: Provider, bond: Bond) -> Bond:
        until_us = self.exposed_until(tx, provider.id)
        if bond.release_asked_us is None or not bond.amount:
            return bond
        if until_us is None or self._clock.now_us() < until_us:
            return bond
        amount, available = bond.amount, _available(provider.owner)
        bond = self._save(tx, replace(bond, amount=0, release_asked_us=None))
        place = self._claims.payable(tx, [available], reason="a bond goes back", source=SOURCE)[available]
        leg = Leg(bond_account(available), place, amount)
        id_ = provider_id(provider.id)
        key = f"bond-back:{id_}:{bond.acts}"
        self._ledger.post(tx, Draft(_KIND, "the bond of a provider goes back", SOURCE, key, (leg,), refs=(id_,)))
        return bond

    def _locked(self, tx: Tx, provider: UUID) -> Bond:
        provider_store.lock(tx, [provider])
        found = store.get(tx, provider, lock=True)
        return found or Bond(provider, 0, self._clock.now_us(), None, 0)

    def _save(self, tx: Tx, bond: Bond) -> Bond:
        bond = replace(bond, changed_us=self._clock.now_us(), acts=bond.acts + 1)
        store.put(tx, bond)
        self._records.refresh(tx, bond.provider)
        return bond


def _available(owner: str) -> str:
    return f"{owner}/available/SAT"
