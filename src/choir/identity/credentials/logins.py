"""Logins of programs: a terminal asks, a person approves in the browser, the terminal fetches its token.

The shape is that of RFC 8628 (device authorisation) with the binding of RFC 7636 (PKCE): the program keeps a
random verifier and sends its hash, so what anybody else sees (the address, the code) does not fetch the token.

Guarantees: a login waits for a short time and gives one token, once, to whoever has the verifier; it is approved
by a person who showed a passkey just now, and until it was fetched the same person can still deny it. The token
itself is made when it is fetched, so it is never stored. How many begin, and how often one is tried, is limited.

A terminal that asks for one act of its person goes the same way: see `confirmations`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import Refusal
from choir.identity import audit
from choir.identity.credentials import store
from choir.identity.credentials.model import BadCredential, Login, LoginDecided, LoginDenied, UnknownLogin, login_id
from choir.identity.credentials.rates import Rates
from choir.identity.credentials.tokens import NewToken, Tokens
from choir.identity.delegations.model import BadTerms
from choir.identity.delegations.rules import checked_name, new_id
from choir.identity.model import ALL_SCOPES, Principal, Role, Scope, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Tx

_CODE_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_BYTES = 5  # 40 bits: eight letters
_DAY_S = 86_400
_FORGET_ROWS = 1000


@dataclass(frozen=True, slots=True)
class FetchedToken:
    """What a program gets."""

    made: NewToken | None  # None: nobody has decided yet


class Logins:
    """Beginning, deciding and finishing logins; all inside the caller's transaction."""

    def __init__(self, tokens: Tokens, rates: Rates, clock: Clock, entropy: Entropy, policy: DelegationsPolicy) -> None:
        self._tokens = tokens
        self._rates = rates
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def begin(
        self, tx: Tx, challenge: bytes, *, name: str, scopes: Collection[Scope], days: int, address: str
    ) -> Login:
        """A program asks; nothing is promised to it."""
        policy = self._policy
        if not scopes or not 1 <= days <= policy.login_days_max:
            raise BadTerms(why=f"it needs a scope and a lifetime of 1 to {policy.login_days_max} days")
        return self.open(tx, challenge, name=name, scopes=sorted(scopes), days=days, address=address)

    def open(
        self,
        tx: Tx,
        challenge: bytes,
        *,
        name: str,
        address: str,
        scopes: Sequence[str] = (),
        days: int = 1,
        act: str = "login",
        terms: dict[str, Any] | None = None,
        asked_by: UUID | None = None,
    ) -> Login:
        """Whatever a program asks for, waiting for a person; how many may be opened from a place is limited."""
        policy = self._policy
        name = checked_name(name, policy.name_chars_max)
        place = self._rates.place(tx, address)
        here, node = policy.logins_per_place, policy.logins_global
        self._rates.count_at(tx, "login", place, window_s=policy.login_window_s, here=here, node=node)
        now_us = self._clock.now_us()
        random = self._entropy.bytes(8 + _CODE_BYTES)
        made = Login(
            id=new_id(now_us, random[:8]),
            challenge=challenge,
            code=_shown_code(random[8:]),
            name=name,
            scopes=list(scopes),
            days=days,
            created_us=now_us,
            expires_us=now_us + policy.login_s * MICROSECONDS,
            person=None,
            state="waiting",
            act=act,
            terms=terms,
            asked_by=asked_by,
        )
        store.insert_login(tx, made)
        return made

    def get(self, tx: Tx, who: Principal, id_: UUID) -> Login:
        """What a person is asked to approve; after somebody decided, only they see it."""
        return self._visible(who, self._found(tx, id_))

    def approve(self, tx: Tx, who: Principal, id_: UUID) -> Login:
        """Let the program have a token of this person. It takes a passkey shown just now."""
        who.must_be_person()
        who.must_be_fresh(self._clock.now_us())
        return self._decide(tx, who, id_, "approved", before=("waiting",))

    def deny(self, tx: Tx, who: Principal, id_: UUID) -> Login:
        """Let it have none; also after an approval, as long as the token was not fetched."""
        return self._decide(tx, who, id_, "denied", before=("waiting", "approved"))

    def fetch(self, tx: Tx, id_: UUID, verifier: str) -> FetchedToken | Refusal:
        """The token, once. A refusal is returned, so that the try is counted: see `attempts`."""
        login = self.claimed(tx, id_, verifier, act=False)
        if isinstance(login, Refusal):
            return login
        if login.state == "waiting":
            return FetchedToken(None)
        store.delete_login(tx, id_)
        return FetchedToken(self._token(tx, login))

    def claimed(self, tx: Tx, id_: UUID, verifier: str, *, act: bool) -> Login | Refusal:
        """What the program that has the verifier asked for, unless it was denied; the try is counted."""
        policy = self._policy
        login = self._found(tx, id_)
        if (login.act != "login") is not act:
            raise UnknownLogin(login=login_id(id_))
        self._rates.count(tx, f"fetch:{id_}", window_s=policy.login_window_s, limit=policy.login_tries_max)
        if not hmac.compare_digest(hashlib.sha256(verifier.encode()).digest(), login.challenge):
            return BadCredential(why="the verifier does not match this login")
        return LoginDenied() if login.state == "denied" else login

    def forget(self, tx: Tx) -> int:
        """Remove logins whose time is over, some at a time; says how many."""
        return store.forget_logins(tx, self._clock.now_us(), _FORGET_ROWS)

    def _token(self, tx: Tx, login: Login) -> NewToken:
        assert login.person is not None
        now_us = self._clock.now_us()
        approver = approver_of(login, login.person)
        scopes = frozenset(Scope(scope) for scope in login.scopes)
        expires_us = now_us + login.days * _DAY_S * MICROSECONDS
        return self._tokens.for_person(tx, approver, name=login.name, scopes=scopes, expires_us=expires_us)

    def _decide(self, tx: Tx, who: Principal, id_: UUID, state: str, before: tuple[str, ...]) -> Login:
        person = who.must_be_person()
        found = self._visible(who, self._found(tx, id_))
        if found.state not in before:
            raise LoginDecided(login=login_id(id_), state=found.state)
        store.decide_login(tx, id_, person, state)
        at_us = self._clock.now_us()
        audit.record(tx, f"login.{state}", at_us=at_us, actor=who.source, owner=who.source, subject=login_id(id_))
        return self._found(tx, id_)

    @staticmethod
    def _visible(who: Principal, found: Login) -> Login:
        me = who.must_be_person()
        if found.person not in (None, me) or found.asked_by not in (None, me):
            raise UnknownLogin(login=login_id(found.id))
        return found

    def _found(self, tx: Tx, id_: UUID) -> Login:
        """The login, for this transaction alone, if its time is not over."""
        found = store.lock_login(tx, id_)
        if found is None or self._clock.now_us() >= found.expires_us:
            raise UnknownLogin(login=login_id(id_))
        return found


def approver_of(login: Login, person: UUID) -> Principal:
    """Whoever approved: their passkey was fresh then, and a login is short."""
    return Principal(
        role=Role.PERSON,
        source=person_owner(person),
        person=person,
        scopes=ALL_SCOPES,
        fresh_until_us=login.expires_us,
        credential=f"login:{login_id(login.id)}",
    )


def challenge_of(text: str) -> bytes:
    """The hash in base64url that a program sent; its form was checked before."""
    return base64.urlsafe_b64decode(text + "=")


def _shown_code(random: bytes) -> str:
    number = int.from_bytes(random)
    letters = "".join(_CODE_LETTERS[number >> 5 * place & 31] for place in range(8))
    return f"{letters[:4]}-{letters[4:]}"
