"""HTTP requests that a Nostr event authorises (NIP-98); events themselves are in `choir.nostr`.

Guarantees: a signed request is good for one method, one address, one body, a short time and one use. What it
is good for depends on whose key it is:

- of an agent that stands alone: that agent, with the scopes that policy gives to lone keys, or a
  delegation that it was given, if the event names it;
- of an agent of a person: only a delegation, the one the event names or else the only good one;
- an account key of a person: the person's matters that need neither a passkey nor spending, with
  the scopes that policy gives to such keys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass, replace

from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import Invalid
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import Agent
from choir.identity.credentials import store
from choir.identity.credentials.model import BadCredential
from choir.identity.delegations.model import delegation_id, parse_delegation_id
from choir.identity.delegations.rules import scopes_of_bits
from choir.identity.delegations.service import Delegations
from choir.identity.keys import store as key_store
from choir.identity.model import Principal, Role, agent_owner, owner_id
from choir.identity.people import store as people_store
from choir.identity.policy import DelegationsPolicy
from choir.nostr.events import BadEvent, NostrEvent, parse_event
from choir.storage.database import Tx

HTTP_AUTH_KIND = 27235  # NIP-98
_SCHEME = "nostr "  # compared without regard to case (RFC 9110)
_FORGET_ROWS = 1000


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """What an event has to be about: the request as it arrived."""

    method: str
    url: str  # absolute, as the caller must have written it, with its query
    body_sha256: bytes | None = None  # None: there is no body


class NostrAuth:
    """Turning signed requests into principals; inside the caller's transaction.

    Doors use a transaction of their own for it, so that an event stays used when its request is refused.
    """

    def __init__(self, delegations: Delegations, clock: Clock, policy: DelegationsPolicy) -> None:
        self._delegations = delegations
        self._clock = clock
        self._policy = policy

    def principal_of(self, tx: Tx, header: str, request: SignedRequest) -> Principal:
        """Who an `Authorization: Nostr …` header speaks for; the same header is refused the second time."""
        event = self._checked(header, request)
        agent = self._use_up_and_find(tx, event)
        key = None if agent is not None else key_store.by_public(tx, event.pubkey)
        if key is not None and key.retired_us is None:
            kind, id_ = owner_id(key.owner)
            if kind == "person":
                return self._person_by_key(tx, event, key.owner)
            agent = agent_store.get(tx, id_)
        if agent is None:
            raise BadCredential(why="no account has this key")
        return self._agent(tx, event, agent)

    def is_known(self, tx: Tx, header: str) -> bool:
        """Whether a key that somebody has here signed a recent, unused event; what it is for is not looked at."""
        try:
            event = self._decoded(header)
            event.verify()
        except (BadCredential, BadEvent):
            return False
        if abs(event.created_at * MICROSECONDS - self._clock.now_us()) > self._window_us:
            return False
        used = store.is_event_used(tx, event.id)
        known = agent_store.by_key(tx, event.pubkey) or key_store.by_public(tx, event.pubkey)
        return not used and known is not None

    def proven(self, tx: Tx, header: str, request: SignedRequest) -> NostrEvent:
        """The event of a header, checked in every respect but whose key it is, and used up.

        Whoever it is has shown to hold the key: enough to let an agent stand on it.
        """
        event = self._checked(header, request)
        self._use_up_and_find(tx, event)
        return event

    def forget_used(self, tx: Tx) -> int:
        """Drop some events that are too old to be accepted anyway; says how many."""
        return store.forget_events(tx, self._clock.now_us(), _FORGET_ROWS)

    def _checked(self, header: str, request: SignedRequest) -> NostrEvent:
        event = self._decoded(header)
        self._check_request(event, request)
        try:
            event.verify()
        except BadEvent as error:
            raise BadCredential(why=str(error.fields["why"])) from None
        return event

    def _decoded(self, header: str) -> NostrEvent:
        if len(header) > self._policy.signed_request_chars_max:
            raise BadCredential(why="the signed event is too long")
        if header[: len(_SCHEME)].lower() != _SCHEME:
            raise BadCredential(why="it must be 'Nostr' and an event in base64")
        try:
            return parse_event(json.loads(base64.b64decode(header[len(_SCHEME) :].strip(), validate=True)))
        except BadEvent as error:
            raise BadCredential(why=str(error.fields["why"])) from None
        except (binascii.Error, ValueError, RecursionError):
            raise BadCredential(why="it must be 'Nostr' and an event in base64") from None

    def _check_request(self, event: NostrEvent, request: SignedRequest) -> None:
        if event.kind != HTTP_AUTH_KIND:
            raise BadCredential(why=f"the event's kind must be {HTTP_AUTH_KIND}")
        if abs(event.created_at * MICROSECONDS - self._clock.now_us()) > self._window_us:
            raise BadCredential(why=f"the event must be at most {self._policy.signed_request_s} seconds old")
        if event.values("u") != [request.url]:
            raise BadCredential(why="the event is for another address")
        if [method.upper() for method in event.values("method")] != [request.method.upper()]:
            raise BadCredential(why="the event is for another method")
        _check_payload(event.values("payload"), request.body_sha256)

    @property
    def _window_us(self) -> int:
        return self._policy.signed_request_s * MICROSECONDS

    def _use_up_and_find(self, tx: Tx, event: NostrEvent) -> Agent | None:
        """Remember the event for as long as it could be accepted, and see whether an agent has its key.

        Two at once: the second waits and is refused.
        """
        until_us = event.created_at * MICROSECONDS + self._window_us + 1
        new, agent = store.use_event(tx, event.id, until_us, event.pubkey)
        if not new:
            raise BadCredential(why="the event was already used")
        return agent

    def _agent(self, tx: Tx, event: NostrEvent, agent: Agent) -> Principal:
        if agent.retired_us is not None:
            raise BadCredential(why="the agent is retired")
        named = event.values("delegation")
        if named:
            return self._by_named_delegation(tx, agent, named)
        if agent.owner is None:
            scopes = scopes_of_bits(self._policy.lone_agent_scopes)
            return Principal(Role.AGENT, agent_owner(agent.id), agent=agent.id, scopes=scopes, credential="nostr")
        found = self._delegations.only_live(tx, agent.id, agent.owner)
        if found is None:
            raise BadCredential(why="the agent has no delegation of its person, or several, and the event names none")
        return found

    def _by_named_delegation(self, tx: Tx, agent: Agent, named: list[str]) -> Principal:
        if len(named) != 1:
            raise BadCredential(why="the event names several delegations")
        try:
            id_ = parse_delegation_id(named[0])
        except Invalid:
            raise BadCredential(why="the event names an unknown delegation") from None
        principal = self._delegations.principal_of(tx, id_)
        if principal.agent != agent.id:
            raise BadCredential(why=f"{delegation_id(id_)} is not a delegation of this agent")
        return replace(principal, credential="nostr")

    def _person_by_key(self, tx: Tx, event: NostrEvent, owner: str) -> Principal:
        """Like an agent of the person: never for what takes a passkey, and with nothing to spend."""
        _, person = owner_id(owner)
        if event.values("delegation"):
            raise BadCredential(why="a delegation needs its agent's key")
        if not people_store.is_there(tx, person):
            raise BadCredential(why="the person was erased")
        scopes = scopes_of_bits(self._policy.person_key_scopes)
        return Principal(Role.AGENT, owner, person=person, scopes=scopes, credential="nostr")


def _check_payload(tags: list[str], body_sha256: bytes | None) -> None:
    """A body needs its hash in the event; without a body, only the hash of nothing may be there."""
    if body_sha256 is None and not tags:
        return
    expected = hashlib.sha256(b"").digest() if body_sha256 is None else body_sha256
    if len(tags) != 1 or not hmac.compare_digest(tags[0].lower().encode(), expected.hex().encode()):
        raise BadCredential(why="the event is for another body")
