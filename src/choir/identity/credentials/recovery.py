"""Recovery codes: for a person who lost their passkeys.

Guarantees: codes have 125 random bits, are shown once and stored hashed; a new set makes the old one worthless,
also for a recovery that is under way; a code lets its person make one new passkey and nothing else, so whoever
recovers still signs in like everyone. A recovery ends all sessions, so that it does not go unnoticed, and, unless
asked not to, all else that could act for the person: older passkeys, what was under way, tokens, delegations.
Guesses are limited by where they come from, not by whom they are at: else anybody could lock a person out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Refusal
from choir.identity import audit
from choir.identity.credentials import token_store
from choir.identity.credentials.challenges import Challenges
from choir.identity.credentials.model import BadCredential, Challenge, Purpose
from choir.identity.credentials.passkeys import Answer, Ceremony, Passkeys
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.tries import attempt
from choir.identity.delegations import store as delegation_store
from choir.identity.model import Principal, person_owner
from choir.identity.people import rules, store
from choir.identity.people.model import UnknownPerson
from choir.identity.people.store import PasskeyRow
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Tx

_WRONG = "the recovery code could not be verified"
_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Codes:
    """How many codes a person has left."""

    unused: int


@dataclass(frozen=True, slots=True)
class EndedCredentials:
    """How much of what could act for a person a recovery ended."""

    passkeys: int
    sessions: int
    tokens: int
    delegations: int


@dataclass(frozen=True, slots=True)
class RecoveredAccount:
    """The new passkey, and what ended when it was made."""

    passkey: PasskeyRow
    ended: EndedCredentials


class Recovery:
    """Making and using recovery codes."""

    def __init__(
        self,
        passkeys: Passkeys,
        challenges: Challenges,
        rates: Rates,
        clock: Clock,
        entropy: Entropy,
        policy: PeoplePolicy,
    ) -> None:
        self._passkeys = passkeys
        self._challenges = challenges
        self._rates = rates
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def make(self, tx: Tx, who: Principal) -> list[str]:
        """New codes instead of the old ones; this is the only time they can be seen."""
        id_ = who.must_be_person()
        now_us = self._clock.now_us()
        who.must_be_fresh(now_us)
        person = store.lock_person(tx, id_)
        if person is None or person.erased_us is not None:
            raise UnknownPerson(person=person_owner(id_))
        codes = [rules.shown_code(self._entropy.bytes(rules.CODE_BYTES)) for _ in range(self._policy.recovery_codes)]
        store.replace_codes(tx, id_, [rules.code_hash(id_, code) for code in codes])
        owner = person_owner(id_)
        audit.record(tx, "recovery.codes_made", at_us=now_us, actor=owner, owner=owner, count=len(codes))
        return codes

    @staticmethod
    def left(tx: Tx, person: UUID) -> Codes:
        """What the account page shows."""
        return Codes(len(store.unused_codes(tx, person)))

    def begin(self, tx: Tx, handle: str, code: str, address: str) -> Ceremony | Refusal:
        """Ask whoever has a code for a new passkey. A refusal is returned, so that the guess is counted."""
        place = self._rates.place(tx, address)
        policy = self._policy
        self._rates.count(
            tx, f"recover:{place}", window_s=policy.recovery_window_s, limit=policy.recovery_tries_per_place
        )
        return attempt(tx, lambda: self._begin(tx, handle, code, place))

    def _begin(self, tx: Tx, handle: str, code: str, place: str) -> Ceremony:
        person = store.person_by_handle(tx, handle) if "\0" not in handle else None
        # The same work for nobody as for somebody: how long it takes does not tell.
        id_ = person.id if person else _NOBODY
        hash_ = rules.code_hash(id_, code)
        if not rules.among(hash_, store.unused_codes(tx, id_)) or person is None:
            raise BadCredential(why=_WRONG)
        # The code is used up when the passkey is made, not before: a closed window costs no code.
        data = {"code": hash_.hex()}
        challenge = self._challenges.give_to_stranger(tx, Purpose.RECOVER, place, person=id_, data=data)
        return self._passkeys.ask_person_for_new(tx, challenge, person)

    def finish(
        self, tx: Tx, ceremony: UUID, answer: Answer, name: str, *, keep: bool = False
    ) -> RecoveredAccount | Refusal:
        """Keep the new passkey, use the code up and end the rest, or with `keep` the sessions alone.

        It gives no session. A refusal is returned: see `attempts`.
        """
        challenge = self._challenges.take(tx, ceremony, Purpose.RECOVER)
        return attempt(tx, lambda: self._finish(tx, challenge, answer, name, keep=keep))

    def _finish(self, tx: Tx, challenge: Challenge, answer: Answer, name: str, *, keep: bool) -> RecoveredAccount:
        assert challenge.person is not None
        verified = self._passkeys.verified_new(challenge, answer)
        person = store.lock_person(tx, challenge.person)
        now_us = self._clock.now_us()
        hash_ = bytes.fromhex(challenge.data["code"])
        if person is None or person.erased_us is not None or not store.use_code(tx, person.id, hash_, now_us):
            raise BadCredential(why=_WRONG)
        ended = self._end(tx, person.id, now_us, keep=keep)  # first, so that there is room for one more passkey
        passkey = self._passkeys.keep(tx, verified, person.id, name)
        owner = person.owner
        audit.record(tx, "recovery.code_used", at_us=now_us, actor=owner, owner=owner, **asdict(ended))
        return RecoveredAccount(passkey, ended)

    @staticmethod
    def _end(tx: Tx, person: UUID, now_us: int, *, keep: bool) -> EndedCredentials:
        """End what could act for a locked person; whoever had their device may have made any of it."""
        sessions = store.delete_sessions(tx, person)
        if keep:
            return EndedCredentials(passkeys=0, sessions=sessions, tokens=0, delegations=0)
        store.end_under_way(tx, person)
        delegations = delegation_store.revoke_all(tx, person, now_us)
        tokens = len(token_store.revoke_all(tx, person, now_us))
        return EndedCredentials(store.delete_passkeys(tx, person), sessions, tokens, delegations)
