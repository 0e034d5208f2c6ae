"""How the rounds of a submitter post: on a connection of its own, each with its own commit.

A submitter remembers balances (`memory`), so that accounts that move often are not looked up each time. It believes its
memory only where the journal still is: under the head's lock, or with an append that moves the head from there alone.
Plain transfers are posted without a look at their keys, which the unique index checks (docs/decisions/0009); few of
them without a lock, because most nodes have one process that writes (docs/decisions/0005).

Guarantees: what is returned is committed; where an error of the database is raised, nothing was written, or the
connection is broken and nobody knows; so it is after an interrupt. Not thread-safe: it is for whoever leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from psycopg.errors import UniqueViolation

from choir.foundation.errors import ChoirError
from choir.ledger.journal import acceptance, store
from choir.ledger.journal.appender import Appender, Group, KeyUsed, PreparedGroup
from choir.ledger.journal.memory import Memory
from choir.ledger.journal.records import Decision, View
from choir.ledger.model import Head, Posted
from choir.ledger.rules import Outcome, Prepared
from choir.storage.database import Connection

_ASKED_ROUNDS = 64  # after the memory was behind, how many rounds ask for news first: others write too
_LOCKED_ROUNDS = 64  # after losing a race, how many rounds take the lock first
_KEYED_ROUNDS = 8  # after a key came again, how many rounds look keys up: repeats seldom come alone


class EarlyLook(NamedTuple):
    """What can be known of a large batch before it is checked: its accounts, and what is remembered of all of them.

    Else there is a question for what is not remembered.
    """

    accounts: dict[str, int]
    view: View | None
    question: store.NewsQuestion | None


class Rounds:
    """The rounds of one submitter, one after the other."""

    def __init__(self, appender: Appender, remembered_accounts_max: int) -> None:
        self._appender = appender
        self._memory = Memory(remembered_accounts_max)
        self._asked_rounds = 0
        self._locked_rounds = 0
        self._keyed_rounds = 0

    def ask_early(self, db: Connection, groups: Sequence[Group]) -> EarlyLook | None:
        """For drafts that are yet to be checked: let the database look up meanwhile what is not remembered."""
        accounts = None if self._keyed_rounds else self._appender.known_accounts(groups)
        if accounts is None:
            return None
        head = self._memory.head
        try:
            if head is not None:
                return EarlyLook(accounts, self._memory.view(accounts), None)
        except KeyError:
            pass
        return EarlyLook(accounts, None, store.NewsQuestion(db, head, self._memory.missing(accounts)))

    def post(self, db: Connection, groups: Sequence[PreparedGroup], early: EarlyLook | None = None) -> list[Outcome]:
        """Post them together and commit."""
        if early is not None and early.question is not None:
            self._memory.hear(early.question.fetch())
        if (refusals := acceptance.refusals(groups)) is not None:
            return refusals
        plain = _is_plain(groups)
        self._keyed_rounds -= self._keyed_rounds > 0
        if plain and self._keyed_rounds == 0:
            try:
                return self._post_unkeyed(db, groups, early)
            except (KeyUsed, UniqueViolation):
                self._keyed_rounds = _KEYED_ROUNDS
        return self._post_keyed(db, groups, plain=plain)

    def _post_unkeyed(self, db: Connection, groups: Sequence[PreparedGroup], early: EarlyLook | None) -> list[Outcome]:
        """Plain transfers whose keys nobody has looked up: of the journal, only balances are needed."""
        alone = _alone(groups)
        if alone is not None and (posted := self._post_one(db, alone)) is not None:
            return [posted]
        accounts = self._appender.accounts(db, groups, committed=True) if early is None else early.accounts
        if self._may_race(groups) and (outcomes := self._race(db, groups, accounts)) is not None:
            return outcomes
        view = None if early is None else early.view
        with store.locked(db) as head:
            if view is None or view.head != head:
                view = self._recall(db, groups, accounts, head)
            decision = self._appender.append(db, groups, view, keys=False)
        return self._committed(view, decision)

    def _post_keyed(self, db: Connection, groups: Sequence[PreparedGroup], *, plain: bool) -> list[Outcome]:
        if plain and self._may_race(groups):
            view = self._appender.read(db, groups, committed=True, keys=True)
            decision = self._appender.append(db, groups, view, keys=True)
            if decision is not None:
                return self._committed(view, decision)
            self._locked_rounds = _LOCKED_ROUNDS
        with store.locked(db):
            view = self._appender.read(db, groups, committed=True, keys=True)
            decision = self._appender.append(db, groups, view, keys=True)
        return self._committed(view, decision)

    def _post_one(self, db: Connection, item: Prepared) -> Posted | None:
        posted = self._appender.post_one(db, item)
        if posted is not None:
            self._memory.follow_one(posted, item.content, item.draft.legs[0])
        return posted

    def _may_race(self, groups: Sequence[PreparedGroup]) -> bool:
        """Whether to append by one statement that finds out whether somebody else was faster."""
        if self._locked_rounds:
            self._locked_rounds -= 1
            return False
        return entries_in(groups) < store.FEW_ENTRIES and not _has_memos(groups)

    def _race(self, db: Connection, groups: Sequence[PreparedGroup], accounts: dict[str, int]) -> list[Outcome] | None:
        """Without a lock: from memory alone, else with the news. None: others were faster, and nothing was written."""
        if self._asked_rounds:
            self._asked_rounds -= 1
        elif entries_in(groups) > 1 and self._memory.knows(accounts):  # one alone comes here to be refused
            view = self._memory.view(accounts)
            decision = self._appender.append(db, groups, view, keys=False)
            if decision is not None and decision.entries:  # only an append shows that the memory was not behind
                return self._committed(view, decision)
            self._asked_rounds = _ASKED_ROUNDS if decision is None else 0
        view = self._recall(db, groups, accounts)
        decision = self._appender.append(db, groups, view, keys=False)
        if decision is not None:
            return self._committed(view, decision)
        self._locked_rounds = _LOCKED_ROUNDS  # others write too: take turns instead of racing
        return None

    def _recall(
        self, db: Connection, groups: Sequence[PreparedGroup], accounts: dict[str, int], head: Head | None = None
    ) -> View:
        """What is remembered of these accounts, with the news: of this head, if it is locked, else as of now."""
        memory = self._memory
        if head is not None and head == memory.head and memory.knows(accounts):
            return memory.view(accounts)
        for _ in range(2):  # news may make it forget
            memory.hear(store.NewsQuestion(db, memory.head, memory.missing(accounts)).fetch())
            if memory.knows(accounts):
                return memory.view(accounts)
        # An account is not open, or there are more than can be remembered.
        return self._appender.read(db, groups, committed=True, keys=False)

    def _committed(self, view: View, decision: Decision | None) -> list[Outcome]:
        assert decision is not None, "nobody else can move a locked head"
        self._memory.follow(view, decision.after(view.head))
        return decision.outcomes


def entries_in(groups: Sequence[PreparedGroup]) -> int:
    """How many drafts these are."""
    return sum([len(group) for group in groups])


def _alone(groups: Sequence[PreparedGroup]) -> Prepared | None:
    """The one entry there is, if it has one leg and nothing beside it."""
    if len(groups) != 1 or len(groups[0]) != 1:
        return None
    item = groups[0][0]
    return None if isinstance(item, ChoirError) or item.transfer is None else item


def _is_plain(groups: Sequence[PreparedGroup]) -> bool:
    """Whether it is transfers only: no hold, and nothing that refers to another entry."""
    for group in groups:
        for item in group:
            if isinstance(item, ChoirError) or item.transfer is not None:
                continue
            if item.draft.hold is not None or item.draft.corrects is not None:
                return False
    return True


def _has_memos(groups: Sequence[PreparedGroup]) -> bool:
    """Whether appending takes more than one statement."""
    for group in groups:
        for item in group:
            if not isinstance(item, ChoirError) and item.draft.memo is not None:
                return True
    return False
