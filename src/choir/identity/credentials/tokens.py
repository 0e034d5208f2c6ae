"""API tokens: for a person's own programs, or for an agent under a delegation.

Guarantees: a token is shown once and stored only as a hash; it reaches no further than the person's
choice or the delegation it is under, and ends with it; what it passed on ends with the token; nobody gets one
for an agent that is not theirs; a checksum tells a typing error, or a token in a place where none should be,
from a wrong token. Nothing is cached: a revoked token fails at once.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.identity import audit
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import NotYourAgent, agent_id
from choir.identity.credentials import token_store
from choir.identity.credentials.model import BadCredential, UnknownToken, token_id
from choir.identity.credentials.token_store import ApiToken, FoundToken
from choir.identity.delegations import rules as delegation_rules
from choir.identity.delegations import store as delegation_store
from choir.identity.delegations.model import BadTerms, Delegation, DelegationWider, UnknownDelegation, delegation_id
from choir.identity.delegations.rules import NO_ID, checked_name, new_id, page_size
from choir.identity.keys.secret_values import TokenText
from choir.identity.model import Principal, Role, Scope, TooMany, agent_owner, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Tx

TOKEN_PREFIX = "choir_pat_"  # noqa: S105 - what every token begins with
_SECRET_BYTES = 32
_SECRET_LETTERS = 43  # 256 bits in base 62
_CHECK_LETTERS = 6  # 32 bits in base 62
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN_PATTERN = re.compile(f"{TOKEN_PREFIX}[0-9A-Za-z]{{{_SECRET_LETTERS + _CHECK_LETTERS}}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made; its text must be shown now or never."""

    token: ApiToken
    text: TokenText


class Tokens:
    """Making, using and revoking tokens; all inside the caller's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: DelegationsPolicy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def for_person(self, tx: Tx, by: Principal, *, name: str, scopes: Collection[Scope], expires_us: int) -> NewToken:
        """A token for a person's own programs. It has no caps, so it takes a passkey shown just now."""
        person = by.must_be_person()
        by.must_be_fresh(self._clock.now_us())
        agent_store.lock_person(tx, person)
        if not frozenset(scopes) <= by.scopes:
            raise DelegationWider(why="the token would have more scopes than you")
        return self._make(tx, by, (person, None, None), name, scopes, expires_us)

    def for_delegation(
        self, tx: Tx, by: Principal, delegation: UUID, *, name: str, scopes: Collection[Scope], expires_us: int
    ) -> NewToken:
        """A token for the agent of a delegation; by its person, or by that agent with its own key.

        Whoever has the token is that agent, with what the agent itself owns. So a person makes one only for an
        agent of their own: else delegating something to a stranger's agent would be a way to become it.
        """
        found = delegation_store.get(tx, delegation)
        if found is None or not _may_use(by, found):
            raise UnknownDelegation(delegation=delegation_id(delegation))
        agent = agent_store.lock(tx, found.agent)
        if by.role is Role.PERSON and (agent is None or agent.owner != found.person):
            raise NotYourAgent(agent=agent_id(found.agent))
        chain = delegation_store.lock_chain(tx, delegation)
        leaf = delegation_rules.check_live(chain, self._clock.now_us())
        if not frozenset(scopes) <= leaf.scopes:
            raise DelegationWider(why="the token would have more scopes than its delegation")
        if expires_us > leaf.expires_us:
            raise DelegationWider(why="the token would expire later than its delegation")
        return self._make(tx, by, (None, leaf.agent, leaf.id), name, scopes, expires_us)

    def of_person(self, tx: Tx, person: UUID, *, after: UUID = NO_ID, limit: int | None = None) -> list[ApiToken]:
        """A page of tokens, a person's own and those under their delegations, oldest first."""
        return token_store.of_person(tx, person, after, page_size(limit, self._policy))

    def get(self, tx: Tx, token: UUID) -> ApiToken:
        found = token_store.get(tx, token)
        if found is None:
            raise UnknownToken(token=token_id(token))
        return found

    def revoke(self, tx: Tx, by: Principal, token: UUID) -> None:
        """End a token at once. A token may end itself, whatever its scopes."""
        found = token_store.get(tx, token)
        if found is None or not self._may_revoke(tx, by, found):
            raise UnknownToken(token=token_id(token))
        if found.revoked_us is not None:
            return
        if found.delegation is not None:  # whoever passes something on holds the person, so nobody does meanwhile
            agent_store.lock_person(tx, self._person_of(tx, found.delegation))
        if token_store.revoke(tx, token, self._clock.now_us()):
            self._record(tx, by, found, "token.revoked")
            self._end_passed_on(tx, by.source, [token])

    def revoke_all(self, tx: Tx, person: UUID) -> int:
        """End every token of a person and under their delegations; says how many were good until now."""
        agent_store.lock_person(tx, person)
        ended = token_store.revoke_all(tx, person, self._clock.now_us())
        self._end_passed_on(tx, person_owner(person), ended)
        return len(ended)

    def _end_passed_on(self, tx: Tx, actor: str, tokens: list[UUID]) -> None:
        """What a token passed on was never more than the token itself."""
        now_us = self._clock.now_us()
        for ended in delegation_store.revoke_by_tokens(tx, tokens, now_us):
            owner, subject = person_owner(ended.person), delegation_id(ended.id)
            agent = agent_id(ended.agent)
            audit.record(tx, "delegation.revoked", at_us=now_us, actor=actor, owner=owner, subject=subject, agent=agent)

    @staticmethod
    def _person_of(tx: Tx, delegation: UUID) -> UUID:
        found = delegation_store.get(tx, delegation)
        assert found is not None
        return found.person

    def principal_of(self, tx: Tx, text: str) -> Principal:
        """Who a token speaks for, by one indexed query. Its last use is written down now and then.

        Doors ask in a transaction of their own, so that a refused request counts as a use as well.
        """
        check_token(text)
        now_us = self._clock.now_us()
        found = token_store.find(tx, token_hash(text))
        if found is None:
            raise BadCredential(why="there is no such token")
        _check_usable(found, now_us)
        seen_before_us = now_us - self._policy.token_seen_s * MICROSECONDS
        if found.token.last_used_us is None or found.token.last_used_us <= seen_before_us:
            token_store.seen(tx, found.token.id, now_us, seen_before_us)
        return _principal(found)

    def _make(
        self,
        tx: Tx,
        by: Principal,
        whose: tuple[UUID | None, UUID | None, UUID | None],
        name: str,
        scopes: Collection[Scope],
        expires_us: int,
    ) -> NewToken:
        now_us = self._clock.now_us()
        person, agent, delegation = whose
        if not scopes:
            raise BadTerms(why="it needs at least one scope")
        if not now_us < expires_us <= now_us + self._policy.token_s_max * MICROSECONDS:
            raise BadTerms(why=f"it must expire in the future, within {self._policy.token_s_max} seconds")
        if token_store.live_count(tx, person, agent, now_us) >= self._policy.tokens_per_owner_max:
            raise TooMany(what="live tokens", limit=self._policy.tokens_per_owner_max)
        name = checked_name(name, self._policy.name_chars_max)
        text = new_token_text(self._entropy)
        id_ = new_id(now_us, self._entropy.bytes(8))
        token = ApiToken(id_, person, agent, delegation, name, frozenset(scopes), now_us, expires_us, None, None)
        token_store.insert(tx, token, token_hash(text.reveal()))
        self._record(tx, by, token, "token.made")
        return NewToken(token, text)

    @staticmethod
    def _may_revoke(tx: Tx, by: Principal, found: ApiToken) -> bool:
        if by.credential == f"token:{token_id(found.id)}":
            return True
        if found.delegation is None:
            return by.role is Role.PERSON and by.must_be_person() == found.person
        above = delegation_store.get(tx, found.delegation)
        assert above is not None
        if by.role is Role.PERSON:
            return by.must_be_person() == above.person
        return by.agent == found.agent

    def _record(self, tx: Tx, by: Principal, token: ApiToken, act: str) -> None:
        owner = person_owner(token.person) if token.person is not None else agent_owner(token.agent or NO_ID)
        audit.record(tx, act, at_us=self._clock.now_us(), actor=by.source, owner=owner, subject=token_id(token.id))


# The text of a token


def new_token_text(entropy: Entropy) -> TokenText:
    """256 random bits and a checksum, in letters that a double click selects as one word."""
    secret = TOKEN_PREFIX + _base62(int.from_bytes(entropy.bytes(_SECRET_BYTES)), _SECRET_LETTERS)
    return TokenText(secret + _checksum(secret))


def check_token(text: str) -> None:
    """Raise unless this looks like a token of ours with a right checksum; the database is not needed for that."""
    if TOKEN_PATTERN.fullmatch(text) is None:
        raise BadCredential(why=f"a token has {_SECRET_LETTERS + _CHECK_LETTERS} letters after {TOKEN_PREFIX}")
    if _checksum(text[:-_CHECK_LETTERS]) != text[-_CHECK_LETTERS:]:
        raise BadCredential(why="its checksum is wrong: it was mistyped or cut off")


def token_hash(text: str) -> bytes:
    """What is stored. 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode()).digest()


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), _CHECK_LETTERS)


def _base62(number: int, letters: int) -> str:
    text = ""
    for _ in range(letters):
        number, digit = divmod(number, 62)
        text = _ALPHABET[digit] + text
    return text


# What a found token is good for


def _check_usable(found: FoundToken, now_us: int) -> None:
    if found.token.revoked_us is not None:
        raise BadCredential(why="the token was revoked")
    if now_us >= found.token.expires_us:
        raise BadCredential(why="the token has expired")
    if found.person_erased_us is not None:
        raise BadCredential(why="the person was erased")
    if found.token.delegation is not None:
        delegation_rules.check_live(found.chain, now_us)


def _principal(found: FoundToken) -> Principal:
    token = found.token
    credential = f"token:{token_id(token.id)}"
    if token.delegation is not None:
        return delegation_rules.delegated_principal(found.chain, credential, token.scopes)
    assert token.person is not None
    source = person_owner(token.person)
    return Principal(Role.PERSON, source, person=token.person, scopes=token.scopes, credential=credential)


def _may_use(by: Principal, delegation: Delegation) -> bool:
    """A token cannot make tokens: one that leaked must not outlive its own end."""
    if by.role is Role.PERSON:
        return by.must_be_person() == delegation.person
    return by.credential == "nostr" and by.delegation == delegation.id
