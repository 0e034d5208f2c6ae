"""What all connections to the relay of one process share: who wants what, what waits to be stored, and the limits.

Guarantees: an event that any process took is offered once to every subscription that may want it; events of all
connections are stored a batch at a time, and who brings more than the database takes waits; queries of strangers have
threads of their own, so that requests keep theirs. When this process may have missed something, every subscription is
told so, by its end. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import TYPE_CHECKING, TypeVar

from anyio import CapacityLimiter, to_thread

from choir.doors.relay.rates import Rate
from choir.foundation.deadline import Deadline
from choir.foundation.errors import ChoirError
from choir.node import Node
from choir.nostr.events import NostrEvent, event_text
from choir.nostr.filters import Filter
from choir.operations.home import check_disk
from choir.relay.model import Outcome
from choir.relay.policy import RelayPolicy
from choir.relay.service import Pieces, Relay
from choir.relay.store import CHANNEL
from choir.storage.notices import Notices
from choir.storage.policy import NodePolicy

if TYPE_CHECKING:
    from choir.doors.relay.session import Session, Subscription

T = TypeVar("T")
Verdict = Outcome | ChoirError
_DISK_FRESH_S = 1.0
_EVERYTHING = ("all", None)


class Hub:
    """The relay's connections of one process."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.relay = node.of(Relay)
        self.policy = node.policy.of(RelayPolicy)
        self.sessions: set[Session] = set()
        self._of: Counter[str] = Counter()  # connections, by address
        self._wanted: dict[tuple[str, object], dict[Subscription, None]] = defaultdict(dict)
        self._notices: Notices | None = None
        self._pieces = Pieces()
        self._intake: asyncio.Queue[tuple[NostrEvent, asyncio.Future[Verdict]]] = asyncio.Queue(
            self.policy.intake_events_max
        )
        self._storing: asyncio.Task[None] | None = None
        self._threads = CapacityLimiter(self.policy.queries_at_once_max)
        self._writers = CapacityLimiter(1)
        self._disk_checked_at = -_DISK_FRESH_S
        self.key_events = Rate(self.policy.events_per_minute_max)
        self.address_events = Rate(self.policy.address_events_per_minute_max)
        self.address_queries = Rate(self.policy.queries_per_minute_max)

    # --- connections --------------------------------------------------------------------------------

    def has_room(self, address: str) -> bool:
        """Whether one more connection of this address may come."""
        most = self.policy.connections_per_address_max
        return len(self.sessions) < self.policy.connections_max and self._of[address] < most

    async def enter(self, session: Session) -> None:
        self.sessions.add(session)
        self._of[session.address] += 1
        if self._notices is None:
            self._notices = Notices(self.node.database.conninfo, CHANNEL, self._hear, self._lost)
        if self._storing is None:
            self._storing = asyncio.create_task(self._store(), context=Context())
        await self.listening()

    async def listening(self) -> None:
        """Wait until this process hears of every new event; it may have lost its connection for a moment."""
        if self._notices is not None:
            await self._notices.begin()

    async def leave(self, session: Session) -> None:
        self.sessions.discard(session)
        self._of[session.address] -= 1
        self._of += Counter()  # drops those at zero
        if not self.sessions and self._notices is not None:
            notices, self._notices = self._notices, None
            await notices.close()

    # --- subscriptions ------------------------------------------------------------------------------

    def subscribe(self, subscription: Subscription) -> None:
        for place in _places(subscription.filters):
            self._wanted[place][subscription] = None

    def unsubscribe(self, subscription: Subscription) -> None:
        for place in _places(subscription.filters):
            found = self._wanted.get(place)
            if found is not None:
                found.pop(subscription, None)
                if not found:
                    del self._wanted[place]

    def _hear(self, piece: str) -> None:
        for event in self._pieces.add(piece):
            text = event_text(event)
            for subscription in self._interested(event):
                subscription.hear(event, text)

    def _interested(self, event: NostrEvent) -> list[Subscription]:
        """Those whose filters name something of the event, each once; whether all of it fits, they look themselves."""
        places: set[tuple[str, object]] = {_EVERYTHING, ("id", event.id), ("author", event.pubkey)}
        places.add(("kind", event.kind))
        places |= {(tag[0], tag[1]) for tag in event.tags if len(tag) > 1 and len(tag[0]) == 1}
        found = (self._wanted[place] for place in places if place in self._wanted)
        return list(dict.fromkeys(subscription for group in found for subscription in group))

    def _lost(self) -> None:
        self._pieces = Pieces()
        for session in tuple(self.sessions):
            session.close_subscriptions("error: the relay may have missed something; subscribe again")

    # --- storing ------------------------------------------------------------------------------------

    async def offer(self, event: NostrEvent) -> asyncio.Future[Verdict]:
        """Have an event stored with others, in order; waits while too many wait. What became of it comes later."""
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        await self._intake.put((event, future))
        return future

    async def _store(self) -> None:
        while True:
            batch = [await self._intake.get()]
            while len(batch) < self.policy.batch_events_max and not self._intake.empty():
                batch.append(self._intake.get_nowait())
            verdicts = await to_thread.run_sync(self._stored, [event for event, _ in batch], limiter=self._writers)
            for (_, future), verdict in zip(batch, verdicts, strict=True):
                if not future.done():
                    future.set_result(verdict)

    def _stored(self, events: list[NostrEvent]) -> list[Verdict]:
        try:
            self._check_disk()
            return list(self.node.write(lambda tx: self.relay.take(tx, events)))
        except ChoirError as error:
            return [error] * len(events)

    def _check_disk(self) -> None:
        now = time.monotonic()
        if now - self._disk_checked_at >= _DISK_FRESH_S:
            check_disk(self.node.settings.home, self.node.policy.of(NodePolicy).disk_free_bytes_min)
            self._disk_checked_at = now

    # --- reading ------------------------------------------------------------------------------------

    async def ask(self, work: Callable[[], T]) -> T:
        """A query of a stranger: in a thread of a few, and within its time."""
        async with self._threads:
            deadline = Deadline(self.policy.query_s_max)
            timer = asyncio.get_running_loop().call_later(self.policy.query_s_max, deadline.expire)
            try:
                with deadline.holds():
                    return await to_thread.run_sync(work, limiter=CapacityLimiter(1))
            finally:
                timer.cancel()


def _places(filters: tuple[Filter, ...]) -> Iterator[tuple[str, object]]:
    """Where to look for whoever wants an event: for each filter the narrowest thing that it names."""
    for wanted in filters:
        if wanted.ids is not None:
            yield from (("id", id_) for id_ in wanted.ids)
        elif wanted.tags:
            name, values = next(iter(wanted.tags.items()))
            yield from ((name, value) for value in values)
        elif wanted.authors is not None:
            yield from (("author", key) for key in wanted.authors)
        elif wanted.kinds is not None:
            yield from (("kind", kind) for kind in wanted.kinds)
        else:
            yield _EVERYTHING
