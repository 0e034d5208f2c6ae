"""Nostr events (NIP-01), and HTTP requests that one authorises (NIP-98).

Guarantees: an event is believed only if its id is the hash of its content and its signature is by its
key; a signed request is good for one method, one address, one body, a short time and one use. What it
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
import re
from dataclasses import dataclass, replace
from typing import Any

from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import Invalid
from choir.foundation.signing import BadSignature, verify_bip340
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
from choir.storage.database import Tx

HTTP_AUTH_KIND = 27235  # NIP-98
_SCHEME = "nostr "  # compared without regard to case (RFC 9110)
_KIND_MAX = 65535  # NIP-01
_TIME_MAX = 2**53 - 1  # what every JSON reader can hold
_HEX_32 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HEX_64 = re.compile(r"[0-9a-f]{128}", re.ASCII)
_FIELDS = frozenset({"id", "pubkey", "created_at", "kind", "tags", "content", "sig"})
_FORGET_ROWS = 1000

Tags = tuple[tuple[str, ...], ...]


class BadEvent(Invalid):
    """Something that is not a Nostr event, or not what it says."""

    code = "identity.bad_event"
    sentence = "That is not a valid Nostr event: {why}."


@dataclass(frozen=True, slots=True)
class NostrEvent:
    """An event, with keys and hashes as bytes. Made by `parse_event`, it has the right form; see `verify`."""

    id: bytes
    pubkey: bytes
    created_at: int  # seconds since 1970, as Nostr has it
    kind: int
    tags: Tags
    content: str
    sig: bytes

    def values(self, name: str) -> list[str]:
        """The first values of all tags with this name."""
        return [tag[1] for tag in self.tags if len(tag) > 1 and tag[0] == name]

    def verify(self) -> None:
        """Raise unless the id is right and the signature is by the event's key."""
        if self.id != event_id(self.pubkey, self.created_at, self.kind, self.tags, self.content):
            raise BadEvent(why="its id is not the hash of its content")
        try:
            verify_bip340(self.pubkey, self.id, self.sig)
        except BadSignature:
            raise BadEvent(why="its signature does not match its key") from None


def serialise(pubkey: bytes, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    """The bytes that an event's id is the hash of (NIP-01): no spaces, nothing escaped without need."""
    parts = [0, pubkey.hex(), created_at, kind, tags, content]
    try:
        return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadEvent(why="its text is not Unicode") from None


def event_id(pubkey: bytes, created_at: int, kind: int, tags: Tags, content: str) -> bytes:
    return hashlib.sha256(serialise(pubkey, created_at, kind, tags, content)).digest()


def parse_event(value: Any) -> NostrEvent:
    """An event from decoded JSON, its form checked and nothing more."""
    if not isinstance(value, dict) or value.keys() != _FIELDS:
        raise BadEvent(why=f"it must have exactly the fields {', '.join(sorted(_FIELDS))}")
    return NostrEvent(
        id=_hex(value["id"], _HEX_32, "id"),
        pubkey=_hex(value["pubkey"], _HEX_32, "pubkey"),
        created_at=_number(value["created_at"], _TIME_MAX, "created_at"),
        kind=_number(value["kind"], _KIND_MAX, "kind"),
        tags=_tags(value["tags"]),
        content=_text(value["content"], "content"),
        sig=_hex(value["sig"], _HEX_64, "sig"),
    )


def event_json(event: NostrEvent) -> dict[str, Any]:
    """An event as JSON, for sending it on."""
    return {
        "id": event.id.hex(),
        "pubkey": event.pubkey.hex(),
        "created_at": event.created_at,
        "kind": event.kind,
        "tags": [list(tag) for tag in event.tags],
        "content": event.content,
        "sig": event.sig.hex(),
    }


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


def _hex(value: Any, form: re.Pattern[str], name: str) -> bytes:
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise BadEvent(why=f"{name} must be lower-case hex of the right length")
    return bytes.fromhex(value)


def _number(value: Any, high: int, name: str) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise BadEvent(why=f"{name} must be a whole number from 0 to {high}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadEvent(why=f"{name} must be text")
    return value


def _tags(value: Any) -> Tags:
    if not isinstance(value, list) or not all(isinstance(tag, list) for tag in value):
        raise BadEvent(why="tags must be a list of lists")
    return tuple(tuple(_text(item, "each part of a tag") for item in tag) for tag in value)
