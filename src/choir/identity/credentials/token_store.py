"""API tokens in PostgreSQL: only their hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from choir.identity.credentials.model import parse_token_id
from choir.identity.delegations.rules import ChainLink
from choir.identity.model import Scope
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token, without its secret. It is a person's, or an agent's under a delegation."""

    id: UUID
    person: UUID | None
    agent: UUID | None
    delegation: UUID | None
    name: str
    scopes: frozenset[Scope]
    created_us: int
    expires_us: int
    last_used_us: int | None
    revoked_us: int | None


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token and all that its validity depends on, as one query found it."""

    token: ApiToken
    person_erased_us: int | None
    chain: tuple[ChainLink, ...]


def insert(tx: Tx, token: ApiToken, hash_: bytes) -> None:
    tx.run(
        "insert into api_tokens (id, hash, person, agent, delegation, name, scopes, created_us, expires_us)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        token.id, hash_, token.person, token.agent, token.delegation, token.name, sorted(token.scopes),
        token.created_us, token.expires_us,
    )  # fmt: skip


def find(tx: Tx, hash_: bytes) -> FoundToken | None:
    """By its hash, with the person or the whole chain of delegations behind it, in one query."""
    row = tx.row(_FIND, hash_)
    if row is None:
        return None
    *columns, erased_us, links = row
    return FoundToken(_token(tuple(columns)), erased_us, tuple(_link(link) for link in links))


def get(tx: Tx, id_: UUID) -> ApiToken | None:
    row = tx.row(_SELECT + " where id = %s", id_)
    return None if row is None else _token(row)


def of_credential(tx: Tx, credential: str) -> ApiToken | None:
    """The token that a principal came with; None: it came with something else."""
    kind, _, id_ = credential.partition(":")
    if kind != "token":
        return None
    found = get(tx, parse_token_id(id_))
    assert found is not None, "tokens are never removed"
    return found


def of_person(tx: Tx, person: UUID, after: UUID, limit: int) -> list[ApiToken]:
    """Tokens of a person, and of agents under that person's delegations."""
    return [_token(row) for row in tx.rows(_OF_PERSON, person, person, after, limit)]


def live_count(tx: Tx, person: UUID | None, agent: UUID | None, now_us: int) -> int:
    return int(
        tx.value(
            "select count(*) from api_tokens"
            " where (person = %s or agent = %s) and revoked_us is null and expires_us > %s",
            person, agent, now_us,
        )
    )  # fmt: skip


def seen(tx: Tx, id_: UUID, now_us: int, before_us: int) -> None:
    """Write down a use, unless one was lately, or somebody else is doing so: nobody waits for this."""
    tx.run(
        "update api_tokens set last_used_us = %s where id = ("
        " select id from api_tokens where id = %s and (last_used_us is null or last_used_us <= %s)"
        " for no key update skip locked)",
        now_us, id_, before_us,
    )  # fmt: skip


def revoke(tx: Tx, id_: UUID, now_us: int) -> bool:
    return tx.run("update api_tokens set revoked_us = %s where id = %s and revoked_us is null", now_us, id_) == 1


def revoke_all(tx: Tx, person: UUID, now_us: int) -> list[UUID]:
    """Every token of a person, and every one under their delegations; says which were good until now."""
    rows = tx.rows(
        "update api_tokens t set revoked_us = %s where revoked_us is null and (person = %s"
        " or exists (select from delegations d where d.id = t.delegation and d.person = %s))"
        " returning id, expires_us",
        now_us, person, person,
    )  # fmt: skip
    return [id_ for id_, expires_us in rows if expires_us > now_us]


def _token(row: tuple[Any, ...]) -> ApiToken:
    id_, person, agent, delegation, name, scopes, *times = row
    return ApiToken(id_, person, agent, delegation, name, frozenset(Scope(scope) for scope in scopes), *times)


def _link(item: list[Any]) -> ChainLink:
    id_, depth, person, agent, scopes, *times = item
    return ChainLink(UUID(id_), depth, UUID(person), UUID(agent), frozenset(Scope(scope) for scope in scopes), *times)


_SELECT: LiteralString = (
    "select id, person, agent, delegation, name, scopes, created_us, expires_us, last_used_us, revoked_us"
    " from api_tokens"
)

_OF_PERSON = """
    select t.id, t.person, t.agent, t.delegation, t.name, t.scopes, t.created_us, t.expires_us, t.last_used_us,
        t.revoked_us
    from api_tokens t left join delegations d on d.id = t.delegation
    where (t.person = %s or d.person = %s) and t.id > %s order by t.id limit %s
"""

_FIND = """
    with recursive token as (
        select id, person, agent, delegation, name, scopes, created_us, expires_us, last_used_us, revoked_us
        from api_tokens where hash = %s
    ),
    chain as (
        select d.id, d.parent, d.depth, d.person, d.agent, d.scopes, d.expires_us, d.revoked_us
        from delegations d join token t on d.id = t.delegation
        union all
        select d.id, d.parent, d.depth, d.person, d.agent, d.scopes, d.expires_us, d.revoked_us
        from delegations d join chain c on d.id = c.parent
    )
    select t.*,
        (select p.erased_us from people p where p.id = t.person),
        coalesce(
            (select jsonb_agg(jsonb_build_array(
                c.id, c.depth, c.person, c.agent, c.scopes, c.expires_us, c.revoked_us, a.retired_us, p.erased_us)
                order by c.depth)
             from chain c join agents a on a.id = c.agent join people p on p.id = c.person), '[]')
    from token t
"""
