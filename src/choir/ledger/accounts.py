"""Opening, freezing and closing accounts.

Guarantees: every act carries a reason and a source and stands in a hash chain of its own, exported
with the journal; opening twice is opening once; a closed account is empty and stays closed; a claim is
neither frozen nor closed. Acts take the head lock, so an entry is judged either before or after a freeze,
never halfway; each act says after how many entries it came, so that anyone can judge again
(docs/decisions/0001-account-acts-have-their-own-chain.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from choir.foundation.clock import Clock
from choir.ledger import hashing, queries
from choir.ledger.journal import store
from choir.ledger.model import (
    CLAIM,
    AccountInUse,
    BadAccountName,
    ClaimStays,
    Head,
    UnknownAccount,
    WrongState,
    account_name,
)
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import check_text
from choir.storage.database import Tx

_BEFORE_AND_AFTER = {"freeze": ("open", "frozen"), "unfreeze": ("frozen", "open"), "close": ("open", "closed")}
_HAS_OPEN_HOLDS = f"select 1 from holds where payer = %s and {queries.IS_OPEN} limit 1"  # noqa: S608 - no input


class Accounts:
    """The acts on accounts; all inside the caller's transaction."""

    def __init__(self, clock: Clock, policy: LedgerPolicy) -> None:
        self._clock = clock
        self._policy = policy

    def open(self, tx: Tx, names: Sequence[str], *, reason: str, source: str) -> list[str]:
        """Open the accounts that are not open yet; returns those that are new."""
        self._check_words(reason, source)
        for name in names:
            _check_name(name)
        known = {row[0] for row in tx.rows("select name from accounts where name = any(%s)", list(names))}
        wanted = [name for name in dict.fromkeys(names) if name not in known]
        if not wanted:
            return []
        head = self._lock(tx)
        inserted = tx.rows(
            "insert into accounts (name) select unnest(%s::text[]) on conflict do nothing returning name, id", wanted
        )
        if inserted:  # else somebody opened all of them while this waited for the lock
            self._act(tx, head, inserted, "open", reason, source)
        return [name for name, _ in inserted]

    def freeze(self, tx: Tx, name: str, *, reason: str, source: str) -> None:
        """Refuse every movement of the account, except what comes back from a hold."""
        self._change(tx, name, "freeze", reason, source)

    def unfreeze(self, tx: Tx, name: str, *, reason: str, source: str) -> None:
        """The act alone; `Claims.unfreeze` also brings home what could not be paid meanwhile."""
        self._change(tx, name, "unfreeze", reason, source)

    def close(self, tx: Tx, name: str, *, reason: str, source: str) -> None:
        """Close an empty account for ever."""
        self._change(tx, name, "close", reason, source)

    def _change(self, tx: Tx, name: str, act: str, reason: str, source: str) -> None:
        self._check_words(reason, source)
        _check_name(name)
        head = self._lock(tx)
        found = tx.row("select id, state from accounts where name = %s", name)
        if found is None:
            raise UnknownAccount(account=name)
        id_, state = found
        before, after = _BEFORE_AND_AFTER[act]
        if account_name(name).role == CLAIM:
            raise ClaimStays(account=name, act=after if act != "unfreeze" else "unfrozen")
        if state != before:
            raise WrongState(account=name, state=state, act=after if act != "unfreeze" else "unfrozen")
        if act == "close":
            self._must_be_unused(tx, id_, name)
        tx.run("update accounts set state = %s where id = %s", after, id_)
        self._act(tx, head, [(name, id_)], act, reason, source)

    @staticmethod
    def _must_be_unused(tx: Tx, id_: int, name: str) -> None:
        balance = tx.value(f"select {queries.last_balance('%s')}", id_)
        if balance:
            raise AccountInUse(account=name, why=f"its balance is {account_name(name).asset.format(balance)}, not zero")
        if tx.value(_HAS_OPEN_HOLDS, id_):
            raise AccountInUse(account=name, why="an open hold would return money to it")

    def _check_words(self, reason: str, source: str) -> None:
        check_text("reason", reason, self._policy.text_chars_max)
        check_text("source", source, self._policy.text_chars_max)

    def _lock(self, tx: Tx) -> Head:
        """The head as the next act finds it, with the time that the act has."""
        store.lock_head(tx.connection)
        head = queries.head(tx)
        return replace(head, at_us=max(self._clock.now_us(), head.at_us))

    @staticmethod
    def _act(tx: Tx, head: Head, accounts: Sequence[tuple[Any, ...]], act: str, reason: str, source: str) -> None:
        """Write the acts that follow the head, on each name and id, and move it; the lock ends with the transaction."""
        hashes: list[bytes] = []
        hash_ = head.acts_hash
        for n, (name, _) in enumerate(accounts, start=head.acts + 1):
            hash_ = hashing.act_hash(hash_, n, head.at_us, hashing.act_content(name, act, head.seq, reason, source))
            hashes.append(hash_)
        tx.run(
            "insert into account_acts (n, account, act, after_seq, at_us, reason, source, hash)"
            " select %s + each.place, each.account, %s, %s, %s, %s, %s, each.hash"
            " from unnest(%s::bigint[], %s::bytea[]) with ordinality as each (account, hash, place)",
            head.acts, act, head.seq, head.at_us, reason, source, [id_ for _, id_ in accounts], hashes,
        )  # fmt: skip
        acts = head.acts + len(accounts)
        tx.run("update ledger_head set acts = %s, acts_hash = %s, at_us = %s", acts, hash_, head.at_us)


def _check_name(name: str) -> None:
    if account_name(name).is_hold:
        raise BadAccountName(name=name, why="the account of a hold is opened and emptied by the hold's own entries")
