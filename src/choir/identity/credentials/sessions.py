"""Web sessions: what a browser carries after a passkey was shown.

Guarantees: a token is 256 random bits, and only its hash is stored; a session ends when it is unused for a
while, when it gets old, when its passkey is removed, and when its person is erased, whichever comes first;
showing its passkey again makes it fresh for dangerous acts, and nothing else does.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.identity import audit
from choir.identity.credentials.model import BadCredential, UnknownSession
from choir.identity.credentials.passkeys import ShownPasskey
from choir.identity.model import ALL_SCOPES, Principal, Role, person_owner
from choir.identity.people import store
from choir.identity.people.store import SessionRow
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Tx

_TOKEN_BYTES = 32
_ENDED = "the session has ended"
_ID_CHARS = 32


@dataclass(frozen=True, slots=True)
class Session:
    """A session, as its person sees it."""

    id: str  # names it in listings; not the secret, and not usable as one
    person: UUID
    passkey: bytes
    created_us: int
    expires_us: int
    asserted_us: int  # when its passkey was last shown


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A new session; the token is in nobody's hands but the caller's."""

    token: str
    session: Session


class Sessions:
    """Starting, using and ending sessions."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: PeoplePolicy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def start(self, tx: Tx, shown: ShownPasskey) -> StartedSession:
        """A session for the person who has just shown a passkey."""
        token = base64.urlsafe_b64encode(self._entropy.bytes(_TOKEN_BYTES)).rstrip(b"=").decode()
        now_us = self._clock.now_us()
        row = SessionRow(_hash(token), shown.person, shown.passkey, now_us, self._expires_us(now_us), shown.at_us)
        store.insert_session(tx, row)
        session = _session(row)
        self._record(tx, "session.started", session.person, session.id)
        return StartedSession(token, session)

    def find(self, tx: Tx, token: str) -> Session:
        """The session of a token, or the one refusal for tokens that are unknown, old or malformed."""
        row = store.session(tx, _hash(token))
        if row is None or self._clock.now_us() >= row.expires_us:
            raise BadCredential(why=_ENDED)
        return _session(row)

    def principal_of(self, tx: Tx, token: str) -> Principal:
        """Who a request with this token speaks for; using a session keeps it from ending as unused."""
        session = self.find(tx, token)
        expires_us = self._expires_us(session.created_us)
        if expires_us - session.expires_us > self._policy.session_extend_s * MICROSECONDS:
            store.extend_session(tx, _hash(token), expires_us)
        return Principal(
            role=Role.PERSON,
            source=person_owner(session.person),
            person=session.person,
            scopes=ALL_SCOPES,
            fresh_until_us=session.asserted_us + self._policy.fresh_s * MICROSECONDS,
            credential="session",
        )

    def confirm(self, tx: Tx, token: str, shown: ShownPasskey) -> Session:
        """The session's own passkey was shown again."""
        session = self.find(tx, token)
        if (session.person, session.passkey) != (shown.person, shown.passkey):
            raise BadCredential(why=_ENDED)
        store.confirm_session(tx, _hash(token), shown.at_us)
        self._record(tx, "session.confirmed", session.person, session.id)
        return self.find(tx, token)

    def end(self, tx: Tx, token: str) -> bool:
        """Sign out; False if there was nothing to end."""
        hash_ = _hash(token)
        person = store.delete_session(tx, hash_)
        if person is None:
            return False
        self._record(tx, "session.ended", person, _id(hash_))
        return True

    def end_one(self, tx: Tx, who: Principal, id_: str) -> None:
        """End one of one's own sessions from the listing."""
        person = who.must_be_person()
        for row in store.sessions(tx, person, self._clock.now_us()):
            if _id(row.hash) == id_ and store.delete_session(tx, row.hash):
                return self._record(tx, "session.ended", person, id_)
        raise UnknownSession

    def end_all(self, tx: Tx, who: Principal, *, keep: str | None = None) -> int:
        """End all of one's own sessions, but the one whose token is to be kept; says how many."""
        person = who.must_be_person()
        ended = store.delete_sessions(tx, person, None if keep is None else _hash(keep))
        if ended:
            owner = person_owner(person)
            audit.record(tx, "session.all_ended", at_us=self._clock.now_us(), actor=owner, owner=owner, count=ended)
        return ended

    def of(self, tx: Tx, person: UUID) -> list[Session]:
        """A person's sessions, newest first."""
        return [_session(row) for row in store.sessions(tx, person, self._clock.now_us())]

    def forget(self, tx: Tx) -> int:
        """Remove sessions whose time is over, some at a time; says how many."""
        return store.forget_sessions(tx, self._clock.now_us(), self._policy.forget_rows_max)

    def _expires_us(self, created_us: int) -> int:
        policy = self._policy
        idle_us = self._clock.now_us() + policy.session_idle_s * MICROSECONDS
        return min(idle_us, created_us + policy.session_s_max * MICROSECONDS)

    def _record(self, tx: Tx, act: str, person: UUID, subject: str) -> None:
        owner = person_owner(person)
        audit.record(tx, act, at_us=self._clock.now_us(), actor=owner, owner=owner, subject=subject)


def _hash(token: str) -> bytes:
    return hashlib.sha256(b"choir-session-v1" + token.encode("utf-8", "replace")).digest()


def _id(hash_: bytes) -> str:
    return hash_.hex()[:_ID_CHARS]


def _session(row: SessionRow) -> Session:
    return Session(_id(row.hash), row.person, row.passkey, row.created_us, row.expires_us, row.asserted_us)
