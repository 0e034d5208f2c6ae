"""Sharing commits among callers in an event loop: the bridge between async doors and the journal.

Like `Submitter`, whose rounds it uses: the first caller's round begins at once, whoever arrives during it
is in the next, and there is no timer. One worker thread posts, so a caller costs no thread of its own.

Guarantees: as for `Submitter`. A caller that is cancelled stops waiting; its entry may still be posted, as
with any request whose answer was lost, and its key finds it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from choir.ledger.journal.appender import Appender, Group, PreparedGroup, all_posted
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import Draft, Posted
from choir.ledger.rules import Outcome

_Waiting = tuple["asyncio.Future[list[Outcome]]", Sequence[PreparedGroup], int]


class AsyncSubmitter:
    """Posts for coroutines. Belongs to one event loop."""

    def __init__(self, appender: Appender, submitter: Submitter) -> None:
        self._appender = appender
        self._submitter = submitter
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="posting")
        self._queue: deque[_Waiting] = deque()
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

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        entries = 0
        limit = self._appender.policy.submit_batch_entries_max
        while self._queue and (not batch or entries + self._queue[0][2] <= limit):
            batch.append(self._queue.popleft())
            entries += batch[-1][2]
        return batch

    def _finish(
        self, loop: asyncio.AbstractEventLoop, batch: list[_Waiting], done: asyncio.Future[list[Outcome]]
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
