"""Sharing commits: what is waiting is posted together.

The first caller posts at once, in its own thread; whoever arrives during that commit waits, and one
of them posts all of them next. There is no timer and no writer thread, so a lone caller waits for
nothing but its own commit, and throughput grows with load. Several processes may do this on one
database: the head's row decides who comes first.

Guarantees: an acceptance is returned only after its commit is durable; when the connection breaks
the batch is sent again with the same keys, so that a caller gets its one effect or an error that
says the outcome is unknown.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg

from choir.foundation.deadline import current as current_deadline
from choir.foundation.errors import ChoirError
from choir.ledger.journal import store
from choir.ledger.journal.appender import Appender, Group, PreparedGroup, all_posted
from choir.ledger.journal.rounds import EarlyLook, Rounds, entries_in
from choir.ledger.model import Draft, Posted
from choir.ledger.rules import Outcome
from choir.storage.database import (
    Connection,
    Database,
    DatabaseBusy,
    DatabaseUnavailable,
    StorageConflict,
    WriteDiskFull,
    translated,
)

_RETRY_S = 0.05


class _Waiting:
    """One caller's groups and the answer it waits for."""

    __slots__ = ("done", "entries", "error", "groups", "outcomes")

    def __init__(self, groups: Sequence[PreparedGroup]) -> None:
        self.groups = groups
        self.entries = entries_in(groups)
        self.outcomes: list[Outcome] = []
        self.error: BaseException | None = None
        self.done = threading.Lock()  # a lock that is released once is the cheapest event there is
        self.done.acquire()


class Submitter:
    """Posts for callers that have no transaction of their own. Thread-safe; one per process.

    How many balances it remembers is policy, unless it is said here.
    """

    def __init__(self, appender: Appender, database: Database, remembered_accounts_max: int | None = None) -> None:
        self._appender = appender
        self._database = database
        self._guard = threading.Lock()
        self._queue: deque[_Waiting] = deque()
        self._leader: object | None = None  # whoever posts now, or was asked to
        self._connection: Connection | None = None  # used by whoever leads
        most = appender.policy.remembered_accounts_max if remembered_accounts_max is None else remembered_accounts_max
        self._rounds = Rounds(appender, most)  # used by whoever leads

    def submit(self, *drafts: Draft) -> list[Posted]:
        """Post these entries together and wait for the commit; raises their refusal."""
        return all_posted(self.submit_batch([drafts]))

    def submit_batch(self, groups: Sequence[Group]) -> list[Outcome]:
        """Post many entries, each group accepted or refused on its own, in order."""
        if sum([len(group) for group in groups]) >= store.FEW_ENTRIES:
            me = object()
            try:
                if self._take_lead(me):
                    outcomes = self._submit_large(groups)
                    self._hand_over(me)
                    return outcomes
            except BaseException:
                self._hand_over(me)
                raise
        return self.submit_prepared(self._appender.prepare_batch(groups))

    def _submit_large(self, groups: Sequence[Group]) -> list[Outcome]:
        """Having the lead: the database looks up balances while we check the drafts."""
        early = self._ask_early(groups)
        try:
            prepared = self._appender.prepare_batch(groups)
        except BaseException:
            if early is not None and early.question is not None:
                self.close()  # its answer would come to somebody else's question
            raise
        return self._post_until_answered(prepared, early)

    def _take_lead(self, me: object) -> bool:
        """Whether nobody leads, so that we do from now on."""
        with self._guard:
            if self._leader is None:
                self._leader = me
            return self._leader is me

    def _ask_early(self, groups: Sequence[Group]) -> EarlyLook | None:
        try:
            return self._rounds.ask_early(self._connected(), groups)
        except (psycopg.Error, DatabaseUnavailable):  # whether it comes back is seen when it is needed
            self.close()
            return None
        except BaseException:
            self.close()  # an interrupt may have come between the question and its answer
            raise

    def submit_prepared(self, groups: Sequence[PreparedGroup]) -> list[Outcome]:
        """The same, for a caller that has prepared the groups itself.

        Who works for a caller with a deadline waits no longer than that; what is under way may still be posted.
        """
        mine = _Waiting(groups)
        try:
            if not self._join(mine):
                _acquire_in_time(mine.done)  # until somebody posted for us, or handed us the lead
            if self._leader is mine:
                self._lead(mine)
        except BaseException:
            self._leave(mine)
            raise
        if mine.error is not None:
            raise mine.error
        return mine.outcomes

    def _join(self, mine: _Waiting) -> bool:
        """Wait in line; whether nobody leads, so that we do from now on."""
        with self._guard:
            self._queue.append(mine)
            if self._leader is None:
                self._leader = mine
            return self._leader is mine

    def _leave(self, mine: _Waiting) -> None:
        """Whatever interrupted us, nobody else may be left waiting."""
        with self._guard:
            if mine in self._queue:
                self._queue.remove(mine)
        self._hand_over(mine)

    def close(self) -> None:
        """Drop the connection; the next submit opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _lead(self, mine: _Waiting) -> None:
        """Post everything that waits now, then hand the lead to whoever came meanwhile."""
        batch: list[_Waiting] = []
        try:
            self._take(batch)
            self._post(batch)
        except BaseException as error:  # whatever it was, nobody may be left waiting
            for waiting in batch:
                waiting.error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._hand_over(mine)
            for waiting in batch:
                if waiting is not mine:
                    waiting.done.release()

    def _take(self, batch: list[_Waiting]) -> None:
        """Let this round have those who wait, as many as fit."""
        entries = 0
        with self._guard:
            while self._queue and (not batch or entries + self._queue[0].entries <= self._limit):
                batch.append(self._queue[0])
                entries += self._queue.popleft().entries

    @property
    def _limit(self) -> int:
        return self._appender.policy.submit_batch_entries_max

    def _hand_over(self, me: object) -> None:
        """Whoever leads passes that on to the first who waits; nothing for anybody else."""
        with self._guard:
            if self._leader is not me:
                return
            following = self._leader = self._queue[0] if self._queue else None
        if following is not None:
            following.done.release()

    def _post(self, batch: list[_Waiting]) -> None:
        try:
            self._post_together(batch)
        except (DatabaseUnavailable, WriteDiskFull):
            raise
        except Exception:
            if len(batch) == 1:
                raise
            for waiting in batch:  # one of them is the cause: the others must not suffer for it
                try:
                    self._post_together([waiting])
                except Exception as error:
                    waiting.error = error

    def _post_together(self, batch: list[_Waiting]) -> None:
        groups = [group for waiting in batch for group in waiting.groups]
        outcomes = self._post_until_answered(groups)
        start = 0
        for waiting in batch:
            waiting.outcomes = outcomes[start : start + waiting.entries]
            start += waiting.entries

    def _post_until_answered(self, groups: Sequence[PreparedGroup], early: EarlyLook | None = None) -> list[Outcome]:
        """Send the batch again while the database is away; the keys make that safe."""
        give_up_at = time.monotonic() + self._database.wait_s
        while True:
            try:
                return self._rounds.post(self._connected(), groups, early)
            except psycopg.Error as error:
                self.close()
                problem: ChoirError = translated(error)
            except DatabaseUnavailable as error:
                problem = error
            except BaseException:
                self.close()  # an interrupt may have come between a question and its answer
                raise
            if not isinstance(problem, DatabaseUnavailable | StorageConflict):
                raise problem
            if self._database.stopping or time.monotonic() > give_up_at:
                raise problem
            early = None  # its connection is gone
            time.sleep(_RETRY_S)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.dedicated()
            self._appender.forget_accounts()  # the database may have gone back meanwhile
        return self._connection


def _acquire_in_time(lock: threading.Lock) -> None:
    deadline = current_deadline()
    wait_s = -1.0 if deadline is None else min(deadline.remaining_s, threading.TIMEOUT_MAX)
    if not lock.acquire(timeout=wait_s):
        raise DatabaseBusy(wait_s=round(wait_s, 1))


_AsyncWaiting = tuple["asyncio.Future[list[Outcome]]", Sequence[PreparedGroup], int]


class AsyncSubmitter:
    """Posts for coroutines. Belongs to one event loop."""

    def __init__(self, appender: Appender, submitter: Submitter) -> None:
        self._appender = appender
        self._submitter = submitter
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="posting")
        self._queue: deque[_AsyncWaiting] = deque()
        self._busy = False

    async def submit(self, *drafts: Draft) -> list[Posted]:
        """Post these entries together and wait for the commit; raises their refusal."""
        return all_posted(await self.submit_batch([drafts]))

    async def submit_batch(self, groups: Sequence[Group]) -> list[Outcome]:
        """Post many entries, each group accepted or refused on its own, in order."""
        prepared = self._appender.prepare_batch(groups)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Outcome]] = loop.create_future()
        waiting = (answer, prepared, sum([len(group) for group in prepared]))
        self._queue.append(waiting)
        if not self._busy:
            self._busy = True
            loop.call_soon(self._begin, loop)  # whoever is ready in this turn of the loop comes along
        try:
            return await answer
        except asyncio.CancelledError:
            if waiting in self._queue:  # not begun: while the database does not answer, only who waits is kept
                self._queue.remove(waiting)
            raise

    def close(self) -> None:
        """Wait for the round under way, if any."""
        self._thread.shutdown(wait=True)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._take()
        if not batch:  # all of them were cancelled
            self._busy = False
            return
        groups = [group for _, prepared, _ in batch for group in prepared]
        done = loop.run_in_executor(self._thread, self._submitter.submit_prepared, groups)
        done.add_done_callback(lambda _: self._finish(loop, batch, done))

    def _take(self) -> list[_AsyncWaiting]:
        batch: list[_AsyncWaiting] = []
        entries = 0
        limit = self._appender.policy.submit_batch_entries_max
        while self._queue and (not batch or entries + self._queue[0][2] <= limit):
            batch.append(self._queue.popleft())
            entries += batch[-1][2]
        return batch

    def _finish(
        self, loop: asyncio.AbstractEventLoop, batch: list[_AsyncWaiting], done: asyncio.Future[list[Outcome]]
    ) -> None:
        error = done.exception()
        outcomes = [] if error is not None else done.result()
        start = 0
        for answer, _, entries in batch:
            if not answer.done():  # a cancelled caller no longer waits
                if error is not None:
                    answer.set_exception(error)
                else:
                    answer.set_result(outcomes[start : start + entries])
            start += entries
        self._busy = bool(self._queue)
        if self._busy:
            loop.call_soon(self._begin, loop)
