"""Operators in a browser: a code that their token asks for, and the session that it becomes.

Guarantees: codes and sessions are 256 random bits and stored as hashes; a code is good once and for a short time, and
how often one is tried is limited; a session lasts some hours and is never prolonged, ends by logging out, and counts
only while the token that asked for it is still that operator's; a session cannot ask for a code.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import NotAllowed, Refusal
from choir.identity import audit
from choir.identity.credentials import operator_store as store
from choir.identity.credentials.model import BadCredential
from choir.identity.credentials.operator_store import OperatorCode, OperatorSession
from choir.identity.credentials.rates import Rates
from choir.identity.model import Principal, Role
from choir.identity.policy import OperatorsPolicy
from choir.storage.database import Tx

SESSION = "operator_session"  # the credential of an operator in a browser
_SECRET_BYTES = 32
_FORGET_ROWS = 1000

Mark = Callable[[str], bytes | None]  # what stands for the token of an operator as it is now; None: there is none


class OperatorTokenNeeded(NotAllowed):
    code = "identity.operator_token_needed"
    sentence = "A browser session cannot ask for another one."
    hint = "Use `choir operator open`, with the operator's token."


@dataclass(frozen=True, slots=True)
class NewCode:
    """A code that was just made; it is in nobody's hands but the caller's."""

    text: str
    expires_us: int


@dataclass(frozen=True, slots=True)
class EnteredOperator:
    """A session that was just started, and its secret."""

    token: str
    session: OperatorSession


class OperatorSessions:
    """Asking for a code, entering with it, and leaving; inside the caller's transaction."""

    def __init__(self, rates: Rates, clock: Clock, entropy: Entropy, policy: OperatorsPolicy) -> None:
        self._rates = rates
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def new_code(self, tx: Tx, who: Principal, mark: Mark) -> NewCode:
        """A code for the operator who asks by a token."""
        stamp = mark(who.source)
        if who.role is not Role.OPERATOR or who.credential == SESSION or stamp is None:
            raise OperatorTokenNeeded
        text = self._secret()
        expires_us = self._clock.now_us() + self._policy.code_s * MICROSECONDS
        store.insert_code(tx, OperatorCode(_hash(b"code", text), who.source, stamp, expires_us))
        return NewCode(text, expires_us)

    def enter(self, tx: Tx, code: str, mark: Mark, *, address: str) -> EnteredOperator | Refusal:
        """Start a session. A refusal is returned, so that the try is counted and the code is used up."""
        policy = self._policy
        place = self._rates.place(tx, address)
        here, node = policy.enters_per_place, policy.enters_global
        self._rates.count_at(tx, "operator", place, window_s=policy.enter_window_s, here=here, node=node)
        found = store.take_code(tx, _hash(b"code", code))
        now_us = self._clock.now_us()
        if found is None or now_us >= found.expires_us or not _same(mark(found.source), found.mark):
            return BadCredential(why="the code was used, has expired, or is not a code of this node")
        text = self._secret()
        expires_us = now_us + policy.session_s * MICROSECONDS
        made = OperatorSession(_hash(b"session", text), found.source, found.mark, now_us, expires_us)
        store.insert_session(tx, made)
        audit.record(tx, "operator.entered", at_us=now_us, actor=found.source, owner=found.source)
        return EnteredOperator(text, made)

    def find(self, tx: Tx, token: str, mark: Mark) -> OperatorSession | None:
        """The session of this secret, if it counts now."""
        found = store.session(tx, _hash(b"session", token))
        if found is None or self._clock.now_us() >= found.expires_us or not _same(mark(found.source), found.mark):
            return None
        return found

    def principal_of(self, tx: Tx, token: str, mark: Mark) -> Principal | None:
        found = self.find(tx, token, mark)
        return None if found is None else Principal(Role.OPERATOR, found.source, credential=SESSION)

    @staticmethod
    def leave(tx: Tx, token: str) -> None:
        """Log out; it may have ended before."""
        store.delete_session(tx, _hash(b"session", token))

    def forget(self, tx: Tx) -> int:
        """Remove what is over, some at a time; says how many."""
        return store.forget(tx, self._clock.now_us(), _FORGET_ROWS)

    def _secret(self) -> str:
        return base64.urlsafe_b64encode(self._entropy.bytes(_SECRET_BYTES)).rstrip(b"=").decode()


def _hash(kind: bytes, text: str) -> bytes:
    return hashlib.sha256(b"choir-operator-v1 " + kind + b" " + text.encode("utf-8", "replace")).digest()


def _same(now: bytes | None, then: bytes) -> bool:
    return now is not None and hmac.compare_digest(now, then)
