"""People: signing up, the gift for doing so, and vouching for each other.

Guarantees: a person is a handle and a passkey, no password, no e-mail, no legal name; a handle has one owner
and is never given to anybody else, nor is one that reads like it, not even after that owner was erased; the
gift is posted in the transaction that makes the person, under a key of that person, so it is given exactly once
however often, however concurrently and from however many processes a sign-up is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import Refusal
from choir.foundation.ids import uuid7
from choir.identity import audit, events
from choir.identity.credentials.challenges import Challenges
from choir.identity.credentials.model import Challenge, Purpose
from choir.identity.credentials.passkeys import Answer, Ceremony, Passkeys, ShownPasskey
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.tries import attempt
from choir.identity.model import Principal, person_owner
from choir.identity.people import referral_store, rules, store
from choir.identity.people.model import HandleAlike, HandleTaken, Person, SameIdentity, UnknownPerson
from choir.identity.people.referral_store import Referral
from choir.identity.policy import PeoplePolicy
from choir.ledger.accounts import Accounts
from choir.ledger.model import PLAY_MINT, Draft, Leg
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

GIFTS = "system:gifts"
_USER_HANDLE_BYTES = 32
_PEPPER_BYTES = 32

SameIdentityCheck = Callable[[Tx, str, str], bool]


@dataclass(frozen=True, slots=True)
class SignedUp:
    """A new person, who has just shown the passkey they signed up with."""

    person: Person
    shown: ShownPasskey


def gift(person: UUID, policy: PeoplePolicy, policy_hash: ObjectHash | None, *, production: bool) -> Draft:
    """The entry that a new person starts with. Its CHIP can be staked and nothing else, so it stands apart.

    Work is paid in SAT, which nobody gives away; so that people can order on a development node too, they get play
    money there, out of where `choir fund` takes it from.
    """
    owner = person_owner(person)
    legs = [
        Leg(f"{GIFTS}/issuance/CREDIT", f"{owner}/available/CREDIT", policy.gift_credit),
        Leg(f"{GIFTS}/issuance/CHIP", f"{owner}/available.starter/CHIP", policy.gift_chip),
    ]
    if policy.gift_play_sat and not production:
        legs.append(Leg(f"{PLAY_MINT}/issuance/SAT", f"{owner}/available/SAT", policy.gift_play_sat))
    key = f"signup:{owner.removeprefix('person:')}"
    return Draft("gift", "the gift for a new person", GIFTS, key, tuple(legs), policy=policy_hash)


class People:
    """Signing up and vouching."""

    def __init__(
        self,
        passkeys: Passkeys,
        challenges: Challenges,
        rates: Rates,
        ledger: Ledger,
        accounts: Accounts,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: PeoplePolicy,
        *,
        production: bool,
        policy_hash: ObjectHash | None = None,
        same_identity: SameIdentityCheck = store.linked,
    ) -> None:
        self._passkeys = passkeys
        self._challenges = challenges
        self._rates = rates
        self._ledger = ledger
        self._accounts = accounts
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._production = production
        self._policy_hash = policy_hash
        self._same_identity = same_identity

    # Signing up

    def begin_sign_up(self, tx: Tx, handle: str, address: str, referrer: str | None = None) -> Ceremony:
        """Ask a newcomer for a passkey under a handle that is free now; it is theirs when they finish.

        `referrer` is the handle of who brought them here: said now or never.
        """
        handle = rules.checked_handle(handle, self._policy)
        rules.check_new_handle(handle)
        place = self._rates.place(tx, address)
        self._check_free(tx, handle)
        user_handle = self._entropy.bytes(_USER_HANDLE_BYTES)
        # The person's id is fixed here, so that one challenge can only ever become one person.
        data = {"person": str(self._new_id()), "handle": handle, "user_handle": user_handle.hex(), "place": place}
        if referrer:
            data["referrer"] = str(self.by_handle(tx, referrer).id)
        challenge = self._challenges.give_to_stranger(tx, Purpose.SIGN_UP, place, data=data)
        if store.is_retired(tx, self._retired_hashes(tx, handle)):  # slow, so only for who may begin at all
            raise HandleTaken(handle=handle)
        return self._passkeys.ask_for_new(challenge, handle, user_handle, [])

    def finish_sign_up(self, tx: Tx, ceremony: UUID, answer: Answer, name: str) -> SignedUp | Refusal:
        """Make the person, with passkey, accounts and gift. A refusal is returned: see `attempts`."""
        challenge = self._challenges.take(tx, ceremony, Purpose.SIGN_UP)
        return attempt(tx, lambda: self._sign_up(tx, challenge, answer, name))

    def _sign_up(self, tx: Tx, challenge: Challenge, answer: Answer, name: str) -> SignedUp:
        # What takes time comes first: from the first counter on, other sign-ups wait for this one.
        verified = self._passkeys.verified_new(challenge, answer)
        retired = self._retired_hashes(tx, challenge.data["handle"])
        others = self._count_sign_up(tx, challenge.data["place"])
        person = self._insert(tx, challenge, retired, others)
        passkey = self._passkeys.keep(tx, verified, person.id, name)
        self._note_referrer(tx, person, challenge.data.get("referrer"))
        audit.record(
            tx, "person.signed_up", at_us=person.created_us, actor=person.owner, owner=person.owner, others=others
        )
        self._outbox.announce(
            tx, events.SIGNED_UP, subject=person.owner, actor=person.owner, data={}, audience=[person.owner]
        )
        self._give(tx, person.id)
        return SignedUp(person, ShownPasskey(person.id, passkey.id, person.created_us))

    def _note_referrer(self, tx: Tx, person: Person, referrer: str | None) -> None:
        """Keep who brought somebody here; one who was erased since is nobody."""
        if referrer is None:
            return
        found = store.lock_person(tx, UUID(referrer))
        if found is None or found.erased_us is not None:
            return
        until_us = person.created_us + self._policy.referral_s * MICROSECONDS
        referral_store.insert(tx, person.id, Referral(found.id, person.created_us, until_us))

    @staticmethod
    def referral(tx: Tx, person: UUID) -> Referral | None:
        """Who brought a person here."""
        return referral_store.get(tx, person)

    def _count_sign_up(self, tx: Tx, place: str) -> int:
        """How many others came from the same place lately; refused when they are too many, here or in all."""
        policy = self._policy
        window_s = policy.sign_up_window_s
        self._rates.count(tx, "sign_up", window_s=window_s, limit=policy.sign_ups_global)
        here = self._rates.count(tx, f"sign_up:{place}", window_s=window_s, limit=policy.sign_ups_per_place)
        return here - 1

    def _insert(self, tx: Tx, challenge: Challenge, retired: list[bytes], others: int) -> Person:
        data = challenge.data
        person = Person(
            id=UUID(data["person"]),
            handle=data["handle"],
            user_handle=bytes.fromhex(data["user_handle"]),
            created_us=self._clock.now_us(),
            erased_us=None,
            sybil_signs=others,
            sybil_score=rules.sybil_score(others, 0, self._policy),
        )
        # First the row, which waits for whoever is leaving this handle behind, then the look at what was left.
        handle = data["handle"]
        if not store.insert_person(tx, person, rules.skeleton(handle)):
            self._check_free(tx, handle)
            raise HandleTaken(handle=handle)
        if store.is_retired(tx, retired):
            raise HandleTaken(handle=handle)
        return person

    @staticmethod
    def _check_free(tx: Tx, handle: str) -> None:
        if store.person_by_handle(tx, handle) is not None:
            raise HandleTaken(handle=handle)
        if store.is_alike(tx, rules.skeleton(handle)):
            raise HandleAlike(handle=handle)

    def _retired_hashes(self, tx: Tx, handle: str) -> list[bytes]:
        """What an erased person's handle leaves, and one that reads like it."""
        pepper = self._pepper(tx)
        return [rules.retired_hash(pepper, text) for text in sorted({handle, rules.skeleton(handle)})]

    def commitment(self, tx: Tx, source: str, text: str) -> str:
        """What stands in the journal for a text that somebody chose: always the same, and not to be guessed from."""
        return rules.text_commitment(self._pepper(tx), source, text)

    def _pepper(self, tx: Tx) -> bytes:
        return store.pepper(tx) or store.make_pepper(tx, self._entropy.bytes(_PEPPER_BYTES))

    def _give(self, tx: Tx, person: UUID) -> None:
        """Open the accounts and post the gift; this takes the ledger's lock, so it comes last."""
        draft = self.gift(person)
        names = [name for leg in draft.legs for name in (leg.from_, leg.to)]
        self._accounts.open(tx, names, reason="a person signed up", source=GIFTS)
        self._ledger.post(tx, draft)

    def gift(self, person: UUID) -> Draft:
        """What a new person of this node starts with."""
        return gift(person, self._policy, self._policy_hash, production=self._production)

    def _new_id(self) -> UUID:
        random = self._entropy.bytes(8)
        return uuid7(self._clock.now_us(), int.from_bytes(random[6:]), random[:6])

    # Looking up

    @staticmethod
    def get(tx: Tx, id_: UUID) -> Person:
        person = store.person(tx, id_)
        if person is None:
            raise UnknownPerson(person=person_owner(id_))
        return person

    @staticmethod
    def handles(tx: Tx, ids: Collection[UUID]) -> dict[UUID, str]:
        """The handles of these people; whoever was erased has none."""
        return store.handles(tx, ids) if ids else {}

    def by_handle(self, tx: Tx, handle: str) -> Person:
        person = store.person_by_handle(tx, rules.checked_handle(handle, self._policy))
        if person is None:
            raise UnknownPerson(person=handle)
        return person

    # Vouching. It says "I know this person", so it never makes two people one identity.

    def vouch(self, tx: Tx, who: Principal, person: UUID) -> bool:
        """Say that this is a person of their own; False if that was said already."""
        voucher_id = who.must_be_person()
        if voucher_id == person:
            raise SameIdentity
        voucher, vouchee = self._both(tx, voucher_id, person)
        now_us = self._clock.now_us()
        rules.check_standing(voucher, now_us, self._policy)
        if self._same_identity(tx, voucher.owner, vouchee.owner):
            raise SameIdentity
        if not store.insert_vouch(tx, voucher.id, vouchee.id, now_us):
            return False
        policy = self._policy
        # Counted and not looked up: taking a vouch back does not give another one.
        bucket = f"vouch:{voucher.id}"
        self._rates.count(tx, bucket, window_s=policy.vouch_window_s, limit=policy.vouches_per_window)
        self._rescore(tx, vouchee)
        audit.record(tx, "vouch.given", at_us=now_us, actor=who.source, owner=vouchee.owner, subject=voucher.owner)
        return True

    def revoke_vouch(self, tx: Tx, who: Principal, person: UUID) -> bool:
        """Take it back; False if there is nothing to take back."""
        voucher, vouchee = self._both(tx, who.must_be_person(), person)
        if not store.delete_vouch(tx, voucher.id, vouchee.id):
            return False
        self._rescore(tx, vouchee)
        now_us = self._clock.now_us()
        audit.record(tx, "vouch.revoked", at_us=now_us, actor=who.source, owner=vouchee.owner, subject=voucher.owner)
        return True

    @staticmethod
    def vouchers(tx: Tx, person: UUID) -> list[UUID]:
        """Who vouches for somebody."""
        return store.vouchers_of(tx, person)

    def _both(self, tx: Tx, a: UUID, b: UUID) -> tuple[Person, Person]:
        """Two people, locked in an order in which no two callers wait for each other, neither erased."""
        found = {}
        for id_ in sorted((a, b)):
            person = store.lock_person(tx, id_)
            if person is None or person.erased_us is not None:
                raise UnknownPerson(person=person_owner(id_))
            found[id_] = person
        return found[a], found[b]

    def _rescore(self, tx: Tx, person: Person) -> None:
        score = rules.sybil_score(person.sybil_signs, store.count_vouches(tx, person.id), self._policy)
        store.set_score(tx, person.id, score)

    # Erasing, as far as it is about handles and vouches; see `erasing` for the whole

    def retire(self, tx: Tx, person: Person) -> None:
        """Empty a locked person's row, keep the handle from being used again, and take back their word."""
        now_us = self._clock.now_us()
        if person.handle is not None:
            store.retire(tx, self._retired_hashes(tx, person.handle), now_us)
        store.empty_person(tx, person.id, self._entropy.bytes(_USER_HANDLE_BYTES), now_us)
        referral_store.forget(tx, person.id)
        vouched = store.vouched_by(tx, person.id)
        store.delete_vouches(tx, person.id)
        for id_ in vouched:
            vouchee = store.lock_person(tx, id_)
            assert vouchee is not None  # people are never removed
            self._rescore(tx, vouchee)
