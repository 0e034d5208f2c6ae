"""Entries for whoever looks: found by id or number, and the reader that the rule of visibility is given.

Guarantee: a reader owns what its credential may look at, the accounts of its agents, and the holds that those pay.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from choir.foundation.errors import Invalid
from choir.identity.model import Principal, Role, Scope, owner_id
from choir.ledger import books, queries
from choir.ledger.model import HOLD_ACCOUNTS, Entry, UnknownEntry, parse_entry_id
from choir.ledger.visibility import NOBODY, Reader, owners_in
from choir.node import Node
from choir.storage.database import Tx

_DIGITS_MAX = 18


def found_entry(tx: Tx, text: str) -> Entry:
    """An entry by its id or its number."""
    told = text.strip().removeprefix("#")
    if told.isascii() and told.isdecimal():
        if len(told) > _DIGITS_MAX:
            raise UnknownEntry(entry=f"number {told[:_DIGITS_MAX]}…")
        return books.numbered(tx, int(told))
    try:
        id_ = parse_entry_id(told)
    except Invalid:
        raise UnknownEntry(entry=told[:60]) from None
    return queries.entry(tx, id_)


def reader_of(node: Node, tx: Tx, who: Principal | None, entries: Iterable[Entry]) -> Reader:
    """Who looks at these entries, as far as they are about them."""
    if who is None:
        return NOBODY
    if who.role is Role.OPERATOR:
        return Reader(operator=True)
    if Scope.READ not in who.scopes:
        return NOBODY
    there = {owner for entry in entries for owner in owners_in(entry.content)}
    payers = _payers(tx, there)
    own = set(who.owners) | _own_agents(node, tx, who, there | set(payers.values()))
    return Reader(frozenset(own | {hold for hold, payer in payers.items() if payer in own}))


def _payers(tx: Tx, there: set[str]) -> dict[str, str]:
    """Who pays each of the holds among these."""
    holds = {UUID(owner.removeprefix(HOLD_ACCOUNTS)) for owner in there if owner.startswith(HOLD_ACCOUNTS)}
    found = books.payers(tx, holds)
    return {f"{HOLD_ACCOUNTS}{id_}": payer.partition("/")[0] for id_, payer in found.items()}


def _own_agents(node: Node, tx: Tx, who: Principal, there: set[str]) -> set[str]:
    """The agents among these that are this person's."""
    if who.role is not Role.PERSON:
        return set()
    agents = {id_: owner for owner in there if (id_ := _agent(owner)) is not None}
    people = node.agents.owners(tx, list(agents))
    return {owner for id_, owner in agents.items() if people.get(id_) == who.person}


def _agent(owner: str) -> UUID | None:
    try:
        kind, id_ = owner_id(owner)
    except Invalid:
        return None
    return id_ if kind == "agent" else None
