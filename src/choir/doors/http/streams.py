"""Streams of events to many clients of one process: who hears what, how much may wait, when it ends.

Guarantees: a stream hears what is addressed to its principal and nothing else; what waits for a slow reader is
bounded, and a reader that falls behind is let go and resumes by the last id it saw; a credential that no longer
holds ends its stream within seconds, and nothing is told between an outage of the database and the next time
the credential was looked at; there are at most so many streams for one principal and in one process.
Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from choir.doors.shapes import StreamsFull, TooManyStreams
from choir.foundation.errors import ChoirError, Unavailable
from choir.storage.database import Database, Tx
from choir.storage.feed import Feed
from choir.storage.outbox import EVERYONE, Event, Outbox, Position
from choir.storage.policy import NodePolicy

log = logging.getLogger(__name__)

T = TypeVar("T")
Stands = Callable[[Tx], None]  # raises once the credential no longer holds
_CATCHING_UP_MAX = 4  # streams that read the past at one time, so that requests keep their threads and connections
_PAGE_ROWS = 200
_RETRY_S = 5


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a stream is to hear: of what it may, what was asked for."""

    name: str | None  # an owner; None: the operator, who hears everything
    type: str = ""  # "bazaar.job" means itself and everything below it
    subject: str = ""

    def wants(self, event: Event) -> bool:
        if self.name is not None and self.name not in event.audience and EVERYONE not in event.audience:
            return False
        if self.subject and event.subject != self.subject:
            return False
        return not self.type or event.type == self.type or event.type.startswith(f"{self.type}.")


class Stream:
    """One client's stream: a queue with a limit, filled by the feed and emptied by the sender."""

    def __init__(self, source: str, hearing: Subscription, stands: Stands, limit: int) -> None:
        self.source = source
        self.hearing = hearing
        self.stands = stands
        self.position = Position()  # everything up to here was handed out
        self.over = asyncio.Event()
        self.why = ""
        self._limit = limit
        self._waiting: deque[Event] = deque()
        self._wakeup = asyncio.Event()

    def hear(self, event: Event) -> None:
        """Called for every new event; never blocks."""
        if self.over.is_set() or not self.hearing.wants(event):
            return
        if len(self._waiting) >= self._limit:
            self._waiting.clear()
            self.end("slow reader")
            return
        self._waiting.append(event)
        self._wakeup.set()

    def end(self, why: str) -> None:
        """No more; what waits is not sent, and the client asks for it again."""
        if not self.over.is_set():
            self.why = why
            self.over.set()
            self._wakeup.set()

    async def next(self, limit_s: float) -> list[Event]:
        """What came meanwhile; nothing after so many seconds of silence, or when it is over."""
        try:
            async with asyncio.timeout(limit_s):
                await self._wakeup.wait()
        except TimeoutError:
            if not self._waiting:  # else one came in the last moment
                return []
        self._wakeup.clear()
        events = [event for event in self._waiting if event.position > self.position]
        self._waiting.clear()
        return [] if self.over.is_set() else events


class Streams:
    """All streams of this process."""

    def __init__(self, database: Database, outbox: Outbox, policy: NodePolicy) -> None:
        self._database = database
        self._outbox = outbox
        self._policy = policy
        self._streams: set[Stream] = set()
        self._of: Counter[str] = Counter()
        self._feed: Feed | None = None
        self._checking: asyncio.Task[None] | None = None
        self._threads: CapacityLimiter | None = None
        self._stopping = False

    @property
    def count(self) -> int:
        return len(self._streams)

    def open(self, source: str, hearing: Subscription, stands: Stands) -> Stream:
        """A place for a stream, or the refusal of one too many."""
        policy = self._policy
        if self._stopping or len(self._streams) >= policy.streams_max:
            raise StreamsFull(limit=policy.streams_max)
        if self._of[source] >= policy.streams_per_principal_max:
            raise TooManyStreams(limit=policy.streams_per_principal_max, retry_s=_RETRY_S)
        stream = Stream(source, hearing, stands, policy.stream_waiting_max)
        self._streams.add(stream)
        self._of[source] += 1
        self._keep_checking()  # from the first moment: who reads the past slowly enough never comes to follow
        return stream

    def close(self, stream: Stream) -> None:
        """Give the place back."""
        if stream in self._streams:
            self._streams.remove(stream)
            self._of[stream.source] -= 1
            self._of += Counter()  # drops those at zero
        if self._feed is not None:
            self._feed.leave(stream.hear)

    async def first_position(self, after: Position | None) -> tuple[Position, bool]:
        """Where a stream begins, and whether something between was forgotten; None: now."""

        def look() -> tuple[Position, bool]:
            with self._database.statements() as tx:
                if after is None:
                    return self._outbox.end(tx), True
                return after, self._outbox.check_position(tx, after)

        return await self._in_thread(look)

    async def past(self, stream: Stream) -> list[Event] | None:
        """The next events of the past for a stream; None once it has caught up, and follows from now on."""
        page = await self._in_thread(lambda: self._page(stream.position))
        if not page:
            return None
        stream.position = page[-1].position
        return [event for event in page if stream.hearing.wants(event)]

    async def follow(self, stream: Stream) -> list[Event]:
        """From now on the stream hears of what is new; returns what came since it had caught up."""
        self._start()
        assert self._feed is not None
        joined = await self._feed.join(stream.hear)
        missed: list[Event] = []
        while stream.position < joined:
            page = await self._in_thread(lambda: self._page(stream.position))
            if not page:
                break
            stream.position = page[-1].position
            missed += [event for event in page if stream.hearing.wants(event)]
        return missed

    def told(self, stream: Stream) -> Position:
        """Up to where a stream with nothing waiting has heard everything."""
        assert self._feed is not None
        return max(stream.position, self._feed.position or Position())

    def end_all(self) -> None:
        """The process stops: every stream ends, and its client comes back to another one."""
        self._stopping = True
        for stream in tuple(self._streams):
            stream.end("the server stops")

    async def stop(self) -> None:
        self.end_all()
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        if self._feed is not None:
            await self._feed.close()

    def _start(self) -> None:
        if self._feed is None:
            self._feed = Feed(self._database.conninfo, self.check)

    def _keep_checking(self) -> None:
        if self._checking is None:
            self._checking = asyncio.create_task(self._check_again(), context=Context())

    def _page(self, after: Position) -> list[Event]:
        with self._database.statements() as tx:
            return self._outbox.read(tx, after, _PAGE_ROWS)

    async def _check_again(self) -> None:
        while True:
            await asyncio.sleep(self._policy.stream_check_s)
            try:
                await self.check()
            except Unavailable as error:  # then nothing is told either, and it is made up for first
                log.warning("streams wait for the database", extra={"error": error.code})
            except Exception:
                log.exception("credentials of streams cannot be checked")

    async def check(self) -> None:
        """Look at every stream's credential, in one transaction, and end those that no longer hold."""
        streams = tuple(self._streams)
        for stream, refusal in await self._in_thread(lambda: self._refusals(streams)):
            stream.end(refusal.code)

    def _refusals(self, streams: tuple[Stream, ...]) -> list[tuple[Stream, ChoirError]]:
        found: list[tuple[Stream, ChoirError]] = []
        if not streams:
            return found
        with self._database.statements() as tx:
            for stream in streams:
                try:
                    stream.stands(tx)
                except Unavailable:
                    raise
                except ChoirError as refusal:
                    found.append((stream, refusal))
        return found

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._threads is None:
            self._threads = CapacityLimiter(_CATCHING_UP_MAX)
        return await to_thread.run_sync(work, limiter=self._threads)
