"""What the pages show, read through the same services as `/v1`.

Guarantee: every function is given whose page it is and returns what is that person's and nothing else's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from choir.doors.web import words
from choir.foundation.money import Asset
from choir.identity import audit
from choir.identity.delegation_rules import NO_ID, CapState
from choir.identity.model import (
    OFFERED_SCOPES,
    Agent,
    Delegation,
    DelegationEnded,
    Period,
    Scope,
    UnknownAgent,
    agent_id,
    agent_owner,
    delegation_id,
    token_id,
)
from choir.identity.people_store import PasskeyRow
from choir.identity.policy import DelegationsPolicy, PeoplePolicy
from choir.identity.sessions import Session
from choir.identity.token_store import ApiToken
from choir.ledger import reading
from choir.ledger.model import account_name
from choir.node import Node
from choir.storage.database import Tx

_ACTS_SHOWN = 12
_ACCOUNTS_SHOWN = 100
CAP_ASSETS = (Asset.SAT, Asset.USDC)  # what can be spent on something here; the others wait for their parts


class _Listed(Protocol):
    @property
    def id(self) -> UUID: ...


T = TypeVar("T", bound=_Listed)


@dataclass(frozen=True, slots=True)
class Balance:
    """An account as its owner sees it."""

    role: str
    asset: str
    about: str
    units: int
    frozen: bool


@dataclass(frozen=True, slots=True)
class PasskeyLine:
    id: str
    row: PasskeyRow
    here: bool  # this browser's session was started with it


@dataclass(frozen=True, slots=True)
class SessionLine:
    session: Session
    passkey: str
    here: bool


@dataclass(frozen=True, slots=True)
class ActLine:
    text: str
    at_us: int
    by: str


@dataclass(frozen=True, slots=True)
class DelegationLine:
    id: str
    delegation: Delegation
    scopes: list[Scope]
    usage: list[CapState]
    ended: str | None


@dataclass(frozen=True, slots=True)
class AgentLine:
    id: str
    agent: Agent
    live: int


@dataclass(frozen=True, slots=True)
class TokenLine:
    id: str
    token: ApiToken
    scopes: list[Scope]
    agent: str | None  # the name of the agent that uses it
    ended: str | None


def balances(node: Node, tx: Tx, owner: str) -> list[Balance]:
    """What an owner has, account by account."""
    found = []
    for item in reading.accounts(tx, prefix=f"{owner}/", limit=_ACCOUNTS_SHOWN):
        name = account_name(item.name)
        role = words.role(f"{name.role}.{name.purpose}" if name.purpose else name.role)
        about = (
            words.ASSETS[name.asset]
            if node.identity.production
            else words.PLAYED.get(name.asset, words.ASSETS[name.asset])
        )
        found.append(Balance(role, name.asset.name, about, item.balance, item.state == "frozen"))
    return sorted(found, key=lambda item: (list(Asset.__members__).index(item.asset), item.role))


def account(node: Node, tx: Tx, person: UUID, here: Session, owner: str) -> dict[str, Any]:
    """The account page."""
    passkeys = node.passkeys.of(tx, person)
    names = {row.id: row.name for row in passkeys}
    return {
        "passkeys": [PasskeyLine(passkey_id(row.id), row, row.id == here.passkey) for row in passkeys],
        "sessions": [
            SessionLine(each, names.get(each.passkey, "a passkey"), each.id == here.id)
            for each in node.sessions.of(tx, person)
        ],
        "codes_left": node.recovery.left(tx, person).unused,
        "codes_made": node.policy.of(PeoplePolicy).recovery_codes,
        "balances": balances(node, tx, owner),
        "acts": [
            ActLine(words.act(act.act), act.at_us, "" if act.actor == owner else act.actor)
            for act in audit.acts(tx, owner, limit=_ACTS_SHOWN)
        ],
    }


def agents(node: Node, tx: Tx, person: UUID) -> list[AgentLine]:
    """A person's agents, newest first, retired ones at the end."""
    live: dict[UUID, int] = {}
    for each in delegations(node, tx, person):
        live[each.delegation.agent] = live.get(each.delegation.agent, 0) + (each.ended is None)
    own = _all(lambda after: node.agents.of_person(tx, person, after=after))
    lines = [AgentLine(agent_id(agent.id), agent, live.get(agent.id, 0)) for agent in reversed(own)]
    return sorted(lines, key=lambda line: line.agent.retired_us is not None)


def agent(node: Node, tx: Tx, person: UUID, id_: UUID) -> dict[str, Any]:
    """One agent, its delegations and what it has."""
    found = node.agents.get(tx, id_)
    if found.owner != person:
        raise UnknownAgent(agent=agent_id(id_))
    lines = [line for line in delegations(node, tx, person) if line.delegation.agent == id_]
    return {
        "agent": AgentLine(agent_id(id_), found, sum(line.ended is None for line in lines)),
        "delegations": lines,
        "balances": balances(node, tx, agent_owner(id_)),
    }


def delegations(node: Node, tx: Tx, person: UUID) -> list[DelegationLine]:
    """What a person delegated, newest first, with what was spent under each; ended ones at the end."""
    found = _all(lambda after: node.delegations.of_person(tx, person, after=after))
    lines = [_delegation(node, tx, each) for each in reversed(found)]
    return sorted(lines, key=lambda line: line.ended is not None)


def tokens(node: Node, tx: Tx, person: UUID) -> list[TokenLine]:
    """A person's tokens and those of their agents, newest first; ended ones at the end."""
    names = {each.id: each.name or agent_id(each.id) for each in _own_agents(node, tx, person)}
    ended = {line.delegation.id: line.ended for line in delegations(node, tx, person)}
    lines = [
        TokenLine(
            token_id(each.id),
            each,
            sorted_scopes(each.scopes),
            None if each.agent is None else names.get(each.agent, "another's agent"),
            _token_ended(each, node.clock.now_us()) or (None if each.delegation is None else ended[each.delegation]),
        )
        for each in reversed(_all(lambda after: node.tokens.of_person(tx, person, after=after)))
    ]
    return sorted(lines, key=lambda line: line.ended is not None)


def grant_form(node: Node) -> dict[str, Any]:
    """What the form for a delegation offers."""
    return {"scopes_offered": OFFERED_SCOPES, "periods": list(Period), "assets": CAP_ASSETS, "days": days(node)}


def days(node: Node) -> list[int]:
    """The lives that a form offers, as far as policy allows them."""
    most = (
        min(node.policy.of(DelegationsPolicy).delegation_s_max, node.policy.of(DelegationsPolicy).token_s_max) // 86_400
    )
    return [count for count in (1, 7, 30, 90, 365) if count <= most]


def sorted_scopes(scopes: frozenset[Scope]) -> list[Scope]:
    """In the order in which they are always shown."""
    return [scope for scope in Scope if scope in scopes]


def passkey_id(id_: bytes) -> str:
    """A passkey as addresses call it, which is how the browser calls it too."""
    return base64.urlsafe_b64encode(id_).rstrip(b"=").decode()


def _delegation(node: Node, tx: Tx, each: Delegation) -> DelegationLine:
    ended = None
    try:
        node.delegations.principal_of(tx, each.id)
    except DelegationEnded as error:
        ended = str(error.fields["why"])
    usage = node.delegations.usage(tx, each.id)
    return DelegationLine(delegation_id(each.id), each, sorted_scopes(each.scopes), usage, ended)


def _token_ended(token: ApiToken, now_us: int) -> str | None:
    if token.revoked_us is not None:
        return "revoked"
    return "expired" if now_us >= token.expires_us else None


def _own_agents(node: Node, tx: Tx, person: UUID) -> list[Agent]:
    return _all(lambda after: node.agents.of_person(tx, person, after=after))


def _all(fetch: Callable[[UUID], list[T]]) -> list[T]:
    """Every page of a listing."""
    found: list[T] = []
    while page := fetch(found[-1].id if found else NO_ID):
        found += page
    return found
