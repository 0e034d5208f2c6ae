"""Who can act, for whom, and how far.

A person signs in with a passkey. An agent acts through a delegation: scopes, caps, an expiry, revocable
at once. Whatever the credential, a request ends up as one `Principal`, and every use case asks that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal, Unauthenticated
from choir.foundation.ids import parse_id, show_id


class Scope(StrEnum):
    """What a delegation or token may be used for."""

    READ = "read"
    RESEARCH = "research"
    PUBLISH = "publish"
    CITE = "cite"
    ATTEST = "attest"
    PROMOTE = "promote"
    CHALLENGE = "challenge"
    BUY = "buy"
    SELL = "sell"
    WITHDRAW = "withdraw"


ALL_SCOPES = frozenset(Scope)
# What something on a node asks for. The others are valid wherever they are given and stored, and are offered to nobody
# before there is something that they allow.
OFFERED_SCOPES = (Scope.READ, Scope.BUY, Scope.SELL)


class Period(StrEnum):
    """The window of a cap, in UTC; half-open."""

    DAY = "day"
    WEEK = "week"  # from Monday
    MONTH = "month"
    TOTAL = "total"


class Role(StrEnum):
    """What kind of caller a principal is."""

    PERSON = "person"
    AGENT = "agent"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request speaks for, by which credential, and how far that reaches.

    `source` is what entries and audit acts carry: "person:…", "agent:…", "operator" or "operator:…".
    """

    role: Role
    source: str
    person: UUID | None = None  # the person behind it, if any
    agent: UUID | None = None
    delegation: UUID | None = None
    scopes: frozenset[Scope] = frozenset()
    fresh_until_us: int = 0  # a passkey was shown lately: dangerous acts are allowed until then
    credential: str = ""  # "session", "token:…", "nostr", "operator"; never the secret itself

    @property
    def owners(self) -> list[str]:
        """Whose accounts it may look at: its agent's and its person's. Spending is another matter."""
        own = [] if self.agent is None else [agent_owner(self.agent)]
        return own + ([] if self.person is None else [person_owner(self.person)])

    def must(self, scope: Scope) -> None:
        """Raise unless the credential reaches this far; operators are not people and have no scopes."""
        if scope not in self.scopes:
            raise ScopeMissing(scope=scope.value)

    def must_be_fresh(self, now_us: int) -> None:
        """Raise unless a passkey was shown lately."""
        if now_us >= self.fresh_until_us:
            raise FreshAssertionNeeded

    def must_be_person(self) -> UUID:
        """The person, for acts that no agent may do, nor a token or a signature without a passkey."""
        by_proxy = self.credential.startswith(("token:", "nostr"))
        if self.role is not Role.PERSON or self.person is None or by_proxy:
            raise PersonNeeded
        return self.person


@dataclass(frozen=True, slots=True)
class Person:
    """A person; the handle is empty once they were erased."""

    id: UUID
    handle: str | None
    user_handle: bytes
    created_us: int
    erased_us: int | None
    sybil_signs: int  # others who had come from the same place when they signed up
    sybil_score: int

    @property
    def owner(self) -> str:
        return person_owner(self.id)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a person, or one that stands on a Nostr key."""

    id: UUID
    owner: UUID | None
    nostr_key: bytes | None
    name: str | None
    created_us: int
    retired_us: int | None


@dataclass(frozen=True, slots=True)
class Cap:
    """At most this much of an asset in a period."""

    asset: str
    period: Period
    cap: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """An agent's authority."""

    id: UUID
    person: UUID
    agent: UUID
    parent: UUID | None
    depth: int
    scopes: frozenset[Scope]
    caps: tuple[Cap, ...]
    expires_us: int
    created_us: int
    revoked_us: int | None
    name: str | None


def person_owner(id_: UUID) -> str:
    """A person as the owner of accounts: "person:01h…"."""
    return f"person:{show_id('person', id_).removeprefix('person_')}"


def agent_owner(id_: UUID) -> str:
    """An agent as the owner of accounts: "agent:01h…"."""
    return f"agent:{show_id('agent', id_).removeprefix('agent_')}"


def owner_id(owner: str) -> tuple[str, UUID]:
    """The kind ("person" or "agent") and id behind an owner of accounts."""
    kind, _, letters = owner.partition(":")
    if kind not in ("person", "agent"):
        raise Invalid(what=f"owner '{owner[:60]}'", why="it must be a person or an agent")
    id_ = parse_id(kind, f"{kind}_{letters}")
    if owner != (person_owner(id_) if kind == "person" else agent_owner(id_)):
        raise Invalid(what=f"owner '{owner[:60]}'", why="it is written in another way than ids are")
    return kind, id_


def parse_person_id(text: str) -> UUID:
    return parse_id("person", text)


def parse_agent_id(text: str) -> UUID:
    return parse_id("agent", text)


def parse_delegation_id(text: str) -> UUID:
    return parse_id("delegation", text)


def agent_id(value: UUID) -> str:
    return show_id("agent", value)


def delegation_id(value: UUID) -> str:
    return show_id("delegation", value)


def token_id(value: UUID) -> str:
    return show_id("token", value)


def parse_token_id(text: str) -> UUID:
    return parse_id("token", text)


def login_id(value: UUID) -> str:
    return show_id("login", value)


def parse_login_id(text: str) -> UUID:
    return parse_id("login", text)


class ScopeMissing(NotAllowed):
    code = "identity.scope_missing"
    sentence = "The credential does not have the scope '{scope}'."
    hint = "Use a token or delegation that has it; a delegation can be narrowed, never widened."


class FreshAssertionNeeded(NotAllowed):
    code = "identity.fresh_assertion_needed"
    sentence = "This needs a passkey shown just now."
    hint = "Confirm with your passkey and try again."


class PersonNeeded(NotAllowed):
    code = "identity.person_needed"
    sentence = "Only a person can do this, not an agent or a token."


class OperatorNeeded(NotAllowed):
    code = "identity.operator_needed"
    sentence = "Only the node's operator can do this."


class NotYourAgent(NotAllowed):
    code = "identity.not_your_agent"
    sentence = "The agent {agent} is not yours, so you cannot make a token that speaks for it."
    hint = "It can sign its requests, or make a token under the delegation, by its own key."


class KeyNeeded(NotAllowed):
    code = "identity.key_needed"
    sentence = "This takes a request that is signed by the key itself."
    hint = "Send `Authorization: Nostr <base64 of a NIP-98 event>`."


class CrossSite(NotAllowed):
    code = "identity.cross_site"
    sentence = "This request came from a page of another site, so the browser's session does not count."
    hint = "Use the node's own pages, at its public address; programs use a token."


class CapExceeded(Refusal):
    code = "identity.cap_exceeded"
    sentence = (
        "The delegation allows {cap_shown} {asset} {within}; {spent_shown} {asset} are spent and {asked_shown} {asset}"
        " were asked for."
    )


class DelegationEnded(NotAllowed):
    code = "identity.delegation_ended"
    sentence = "The delegation {delegation} is {why}."


class NoCap(NotAllowed):
    code = "identity.no_cap"
    sentence = "The delegation {delegation} has no cap for {asset}, so none of it can be spent."
    hint = "Ask for a delegation with a cap for this asset."


class NotYourAccount(NotAllowed):
    code = "identity.not_your_account"
    sentence = "This credential cannot move what is in {account}."
    hint = "An agent spends what is its person's only by a delegation with a cap."


class BadTerms(Invalid):
    code = "identity.bad_terms"
    sentence = "That cannot be granted: {why}."


class DelegationWider(Invalid):
    code = "identity.delegation_wider"
    sentence = "A delegation can be narrowed, never widened: {why}."


class UnknownPerson(NotFound):
    code = "identity.person_unknown"
    sentence = "There is no person {person}."


class UnknownAgent(NotFound):
    code = "identity.agent_unknown"
    sentence = "There is no agent {agent}."


class UnknownDelegation(NotFound):
    code = "identity.delegation_unknown"
    sentence = "There is no delegation {delegation}."


class UnknownToken(NotFound):
    code = "identity.token_unknown"
    sentence = "There is no token {token}."


class UnknownKey(NotFound):
    code = "identity.key_unknown"
    sentence = "There is no account key {key}."


class UnknownLogin(NotFound):
    code = "identity.login_unknown"
    sentence = "There is no login {login} waiting; it was used, or its time is over."
    hint = "Start again, with `choir login` for example."


class LoginDenied(NotAllowed):
    code = "identity.login_denied"
    sentence = "The login was denied in the browser."


class LoginDecided(Refusal):
    code = "identity.login_decided"
    sentence = "The login {login} was already {state} by somebody."


class KeyReused(Refusal):
    code = "identity.key_reused"
    sentence = "The Idempotency-Key was already used for another request."
    hint = "Send the first request unchanged to see what it made, or choose a new key."


class NotTransferable(Refusal):
    code = "identity.not_transferable"
    sentence = "{asset} cannot be sent like this: {why}."


class TooMany(Refusal):
    code = "identity.too_many"
    sentence = "There are already {limit} {what}, which is the limit."


class AgentRetired(Refusal):
    code = "identity.agent_retired"
    sentence = "The agent {agent} is retired."


class KeyTaken(Refusal):
    code = "identity.key_taken"
    sentence = "The key {key} is already in use by another account."


class BadName(Invalid):
    code = "identity.bad_name"
    sentence = "That cannot be a name: {why}."


class HandleTaken(Refusal):
    code = "identity.handle_taken"
    sentence = "The handle '{handle}' is taken."


class HandleAlike(Refusal):
    code = "identity.handle_alike"
    sentence = "The handle '{handle}' reads like one that is taken."
    hint = "Choose one that nobody takes for another: 0 and o, 1 and l, rn and m, vv and w, - and _ look alike."


class BadHandle(Invalid):
    code = "identity.bad_handle"
    sentence = "'{handle}' cannot be a handle: {why}."


class TooManyTries(Refusal):
    code = "identity.too_many_tries"
    sentence = "That was tried too often; try again in {retry_s} seconds."


class BadCredential(Unauthenticated):
    code = "identity.bad_credential"
    sentence = "The credential is not valid: {why}."
    hint = "Sign in again, or make a new token."


class TooManyPasskeys(Refusal):
    code = "identity.too_many_passkeys"
    sentence = "A person has at most {limit} passkeys."
    hint = "Remove one that you no longer use."


class UnknownPasskey(NotFound):
    code = "identity.passkey_unknown"
    sentence = "You have no such passkey."


class UnknownSession(NotFound):
    code = "identity.session_unknown"
    sentence = "You have no such session."


class NotInGoodStanding(Refusal):
    code = "identity.not_in_good_standing"
    sentence = "This account cannot vouch for others yet: {why}."


class SameIdentity(Refusal):
    code = "identity.same_identity"
    sentence = "Nobody can vouch for themselves, nor for an account that is taken for their own."


class LastPasskey(Refusal):
    code = "identity.last_passkey"
    sentence = "This is the last passkey; add another one before it is removed."
