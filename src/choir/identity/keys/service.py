"""Account keys: a Nostr key (secp256k1) for each account, from a phrase or brought along.

Guarantees: a secret is in the database only encrypted under the node's key, and leaves this module only
for the signer; a phrase is shown once and kept nowhere; a new key takes a passkey shown just now; while
the node's key is replaced, in however many rounds and with kills in between, every key can be opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Unavailable
from choir.foundation.signing import NodeSecret
from choir.identity import audit
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import UnknownAgent
from choir.identity.delegations.rules import new_id
from choir.identity.keys import phrases
from choir.identity.keys import store as key_store
from choir.identity.keys.model import KeyTaken, UnknownKey
from choir.identity.keys.nostr_keys import npub, public_of
from choir.identity.keys.seals import SealContext, Sealer, SealerRing
from choir.identity.keys.secret_values import Phrase, SecretKey
from choir.identity.keys.store import AccountKey, SealedKey
from choir.identity.model import Principal, TooMany, agent_owner, owner_id, person_owner
from choir.identity.people.model import UnknownPerson
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Database, Tx


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made, with the phrase that must be shown now or never."""

    key: AccountKey
    phrase: Phrase


class FormerKeyMissing(Unavailable):
    """Something is encrypted under a node key that is no longer here."""

    code = "key.former_missing"
    sentence = "Account keys are still encrypted under missing former node keys: {names}."
    hint = "Put those key files next to the current one, as node.key.retired-…, and rotate again."


class AccountKeys:
    """Making, bringing, retiring and re-encrypting account keys; all inside the caller's transaction."""

    def __init__(self, sealers: SealerRing, clock: Clock, entropy: Entropy, policy: DelegationsPolicy) -> None:
        self._sealers = sealers
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def create(self, tx: Tx, by: Principal, owner: str) -> NewKey:
        """A new key from a new phrase."""
        phrase = phrases.new_phrase(self._entropy)
        return NewKey(self.restore(tx, by, owner, phrase), phrase)

    def restore(self, tx: Tx, by: Principal, owner: str, phrase: Phrase, account: int = 0) -> AccountKey:
        """The key of a phrase (NIP-06)."""
        seed = phrases.phrase_seed(phrase)
        secret = phrases.nostr_secret(seed, account)
        return self._keep(tx, by, owner, secret, phrases.nostr_path(account), phrases.seed_id(seed))

    def bring(self, tx: Tx, by: Principal, owner: str, secret: SecretKey) -> AccountKey:
        """A key that its owner brought along."""
        return self._keep(tx, by, owner, secret, None, None)

    def get(self, tx: Tx, key: UUID) -> AccountKey:
        found = key_store.get(tx, key)
        if found is None:
            raise UnknownKey(key=str(key))
        return found

    def of_owner(self, tx: Tx, owner: str) -> list[AccountKey]:
        """All keys of an owner, oldest first."""
        return key_store.of_owner(tx, owner)

    def retire(self, tx: Tx, by: Principal, owner: str, public: bytes) -> None:
        """Stop using a key and drop its secret."""
        self._authorised(tx, by, owner)
        found = key_store.by_public(tx, public)
        if found is None or found.owner != owner or not key_store.retire(tx, found.id, self._clock.now_us()):
            raise UnknownKey(key=public.hex()[:64])
        self._record(tx, by, owner, "key.retired", public)

    def forget(self, tx: Tx, owner: str) -> int:
        """Drop every secret of an owner who is being erased; says how many keys it was."""
        return key_store.forget(tx, owner, self._clock.now_us())

    def open_current(self, tx: Tx, owner: str) -> SecretKey:
        """The secret that signs for an owner now. For the signer and nobody else."""
        found = key_store.current_sealed(tx, owner)
        if found is None:
            raise UnknownKey(key=f"of {owner}")
        return SecretKey(self._sealers.named(found.sealed_by).open(found.sealed, _context(found)))

    def rewrap(self, tx: Tx, old: NodeSecret, new: NodeSecret, limit: int) -> int:
        """Encrypt anew, under the new node secret, some keys that the old one sealed; says how many.

        Only when `new` is what the node is configured with and a round returns less than `limit` is
        nothing left of the old one. A round that was cut off has changed nothing.
        """
        return self._rewrap(tx, Sealer.of(old), Sealer.of(new), limit)

    def rewrap_round(self, tx: Tx) -> int:
        """One bounded round towards the current node secret, from whichever retired ones are still here."""
        limit = self._policy.rewrap_keys_max
        new = self._sealers.current()
        done = 0
        for old in self._sealers.retired():
            if old.name != new.name and done < limit:
                done += self._rewrap(tx, old, new, limit - done)
        return done

    def rewrap_all(self, database: Database) -> int:
        """Encrypt every account key under the current node key, in bounded transactions; says how many it were."""
        total = 0
        while changed := database.run(self.rewrap_round):
            total += changed
        with database.unit_of_work() as tx:
            left = self.sealed_elsewhere(tx)
        if left:
            raise FormerKeyMissing(names=", ".join(sorted(left)))
        return total

    def sealed_elsewhere(self, tx: Tx) -> set[str]:
        """Node keys, other than the current one, that something here is still sealed by."""
        return key_store.names_of_sealers(tx) - {self._sealers.current().name}

    def _rewrap(self, tx: Tx, old: Sealer, new: Sealer, limit: int) -> int:
        key_store.own_sealing(tx)
        found = key_store.sealed_by(tx, old.name, limit)
        for key in found:
            context = _context(key)
            key_store.reseal(tx, key.id, new.seal(old.open(key.sealed, context), context, self._entropy), new.name)
        return len(found)

    def _keep(
        self, tx: Tx, by: Principal, owner: str, secret: SecretKey, derivation: str | None, seed: UUID | None
    ) -> AccountKey:
        self._authorised(tx, by, owner)
        public = public_of(secret)
        known = key_store.by_public(tx, public)
        if known is not None and known.owner == owner and known.usable:
            return known
        self._must_be_free(tx, owner, public)
        key_store.share_sealing(tx)
        sealer = self._sealers.current()
        now_us = self._clock.now_us()
        id_ = new_id(now_us, self._entropy.bytes(8))
        sealed = sealer.seal(secret.reveal(), SealContext(owner, public, id_), self._entropy)
        key = AccountKey(id_, owner, public, derivation, seed, True, sealer.name, now_us, None)
        if not key_store.insert(tx, key, sealed):
            raise KeyTaken(key=npub(public))
        self._record(tx, by, owner, "key.added", public)
        return key

    def _must_be_free(self, tx: Tx, owner: str, public: bytes) -> None:
        live = [key for key in key_store.of_owner(tx, owner) if key.retired_us is None]
        if len(live) >= self._policy.keys_per_owner_max:
            raise TooMany(what=f"keys of {owner}", limit=self._policy.keys_per_owner_max)
        agent = agent_store.by_key(tx, public)
        if agent is not None and agent_owner(agent.id) != owner:
            raise KeyTaken(key=npub(public))

    def _authorised(self, tx: Tx, by: Principal, owner: str) -> None:
        """Only a person who showed a passkey just now, for themselves or an agent of theirs."""
        person = by.must_be_person()
        by.must_be_fresh(self._clock.now_us())
        agent_store.lock_person(tx, person)
        if owner == person_owner(person):
            return
        kind, id_ = owner_id(owner)
        if kind != "agent":
            raise UnknownPerson(person=owner[:80])
        agent = agent_store.get(tx, id_)
        if agent is None or agent.owner != person or agent.retired_us is not None:
            raise UnknownAgent(agent=owner[:80])

    def _record(self, tx: Tx, by: Principal, owner: str, act: str, public: bytes) -> None:
        audit.record(tx, act, at_us=self._clock.now_us(), actor=by.source, owner=owner, subject=npub(public))


def _context(key: SealedKey) -> SealContext:
    return SealContext(key.owner, key.public, key.id)
