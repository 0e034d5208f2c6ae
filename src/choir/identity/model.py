"""Who can act, for whom, and how far: principals, their scopes and their roles; owners and their ids; what was done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.foundation.errors import Invalid, NotAllowed, Refusal
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
OFFERED_SCOPES = (Scope.READ, Scope.RESEARCH, Scope.PUBLISH, Scope.CHALLENGE, Scope.BUY, Scope.SELL)


class Role(StrEnum):
    """What kind of caller a principal is."""

    PERSON = "person"
    AGENT = "agent"
    OPERATOR = "operator"
    NOBODY = "nobody"  # whoever reads what is public, without an account


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

    def must_be_told_apart(self, needed: int) -> None:
        """Raise if so many operators must agree and nobody can say which of them this is.

        Whoever keeps the node's home has its token, and may have one with a name beside it.
        """
        if needed > 1 and ":" not in self.source:
            raise NamedOperatorNeeded(needed=needed)

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


NOBODY = Principal(Role.NOBODY, "nobody")  # owns nothing, so services show it what they show to everybody


@dataclass(frozen=True, slots=True)
class Act:
    """One act, such as "passkey.added"."""

    n: int  # the cursor of a listing
    at_us: int
    actor: str  # who did it: "person:…", "agent:…", "operator", "operator:…"
    owner: str  # whose identity it is about
    act: str
    subject: str | None
    data: dict[str, Any]


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
        raise Invalid(what=f"owner '{owner[:60]}'", why="it is not in the canonical form of an id")
    return kind, id_


class ScopeMissing(NotAllowed):
    code = "identity.scope_missing"
    sentence = "The credential does not have the scope '{scope}'."
    hint = "Log in with it (choir login --scope read --scope SCOPE), or use a token or delegation that has it."


class FreshAssertionNeeded(NotAllowed):
    code = "identity.fresh_assertion_needed"
    sentence = "This needs a fresh passkey check."
    hint = "Confirm with your passkey and try again."


class PersonNeeded(NotAllowed):
    code = "identity.person_needed"
    sentence = "Only a person can do this, not an agent or a token."


class OperatorNeeded(NotAllowed):
    code = "identity.operator_needed"
    sentence = "Only the node's operator can do this."


class NamedOperatorNeeded(NotAllowed):
    code = "identity.named_operator_needed"
    sentence = "Here {needed} operators decide together, so each needs a name; the token of the node's home has none."
    hint = "`choir operator add NAME` makes a token with a name; rule with that one in CHOIR_TOKEN."


class KeyReused(Refusal):
    code = "identity.key_reused"
    sentence = "The Idempotency-Key was already used for another request."
    hint = "Send the first request unchanged to get its result, or choose a new key."


class TooMany(Refusal):
    code = "identity.too_many"
    sentence = "There are already {limit} {what}, which is the limit."


class BadName(Invalid):
    code = "identity.bad_name"
    sentence = "The name is not valid: {why}."


class TooManyTries(Refusal):
    code = "identity.too_many_tries"
    sentence = "Too many attempts; retry in {retry_s} seconds."


def told_source(who: Principal, source: str) -> str:
    """Who did something, as somebody is told: only operators are told an operator's name."""
    is_named = source.startswith(f"{Role.OPERATOR}:") and who.role is not Role.OPERATOR
    return Role.OPERATOR.value if is_named else source
