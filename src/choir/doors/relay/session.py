"""One connection to the relay: what a client says (NIP-01, 42, 45), and what it is told.

Guarantees: every EVENT is answered by an OK, every REQ by EOSE or CLOSED, every COUNT by a COUNT or CLOSED; a
subscription is told each event once, the stored ones before EOSE and all others behind it, without a gap between them;
what waits for a slow reader is bounded, and one that falls behind is cut; nothing that a client sends ends anything but
its own connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.websockets import WebSocket, WebSocketDisconnect

from choir.doors.relay.hub import Hub, Verdict
from choir.doors.relay.rates import Rate
from choir.foundation.errors import ChoirError, Invalid
from choir.nostr.events import AUTH_KIND, BadEvent, NostrEvent, compact, parse_event
from choir.nostr.filters import Filter, parse_filter
from choir.relay.model import PRIVATE_KINDS, Page, may_see

log = logging.getLogger(__name__)

_PAGE_ROWS = 100
_REASON_CHARS = 200
_TRY_AGAIN = 1013  # RFC 6455 and its registry: try again later
_POLICY = 1008


class Refused(Exception):
    """Something that a client said is not done; the text is for it, as NIP-01 has it."""


class Subscription:
    """What a client wants to hear from now on."""

    def __init__(self, session: Session, name: str, filters: tuple[Filter, ...]) -> None:
        self.session = session
        self.name = name
        self.filters = filters
        self.ended = False
        self._head = f'["EVENT",{compact(name)},'
        self._told: set[bytes] | None = set()  # until everything stored was told
        self._held: list[tuple[bytes, str]] = []

    def hear(self, event: NostrEvent, text: str) -> None:
        """Called for every new event that its filters may want; never blocks."""
        if not any(wanted.matches(event) for wanted in self.filters) or not may_see(event, self.session.keys):
            return
        if self._told is None:
            self.session.send(f"{self._head}{text}]")
        elif len(self._held) >= self.session.hub.policy.waiting_events_max:
            self.session.cut("it reads too slowly")
        else:
            self._held.append((event.id, text))

    async def tell_stored(self, page: Page) -> None:
        assert self._told is not None
        for id_, body in zip(page.ids, page.bodies, strict=True):
            if id_ not in self._told and not self.ended:
                self._told.add(id_)
                await self.session.send_in_turn(f"{self._head}{body}]")

    def go_live(self) -> None:
        """Everything stored was told: say so, then what came meanwhile, and from now on at once."""
        assert self._told is not None
        if self.ended:
            return
        self.session.send(f'["EOSE",{compact(self.name)}]')
        told, self._told = self._told, None
        for id_, text in self._held:
            if id_ not in told:
                self.session.send(f"{self._head}{text}]")
        self._held = []


class Session:
    """One client."""

    def __init__(self, hub: Hub, websocket: WebSocket, address: str, own_addresses: frozenset[str]) -> None:
        self.hub = hub
        self.address = address
        self.keys: frozenset[bytes] = frozenset()
        self._own_addresses = own_addresses
        self._websocket = websocket
        self._challenge = secrets.token_hex(16)
        self._subscriptions: dict[str, Subscription] = {}
        self._readings: dict[str, asyncio.Task[None]] = {}
        self._waiting: deque[str] = deque()
        self._waiting_bytes = 0
        self._wakeup = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._over = ""
        self._events = Rate(hub.policy.events_per_minute_max)
        self._refusals = Rate(hub.policy.refusals_max)
        self._acts: dict[str, Callable[[list[Any]], Awaitable[None]]] = {
            "EVENT": self._event,
            "REQ": self._req,
            "COUNT": self._count,
            "CLOSE": self._close,
            "AUTH": self._auth,
        }

    async def run(self) -> None:
        """Until the client leaves, or is cut."""
        try:
            await self.hub.enter(self)
            await self._serve()
        finally:
            await self.hub.leave(self)

    async def _serve(self) -> None:
        self.send(compact(["AUTH", self._challenge]))
        sending = asyncio.create_task(self._send_waiting())
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait({sending, reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks = [sending, reading, *self._readings.values()]
            for task in tasks:
                task.cancel()
            for subscription in self._subscriptions.values():
                self.hub.unsubscribe(subscription)
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(result, Exception) and not isinstance(result, WebSocketDisconnect):
                    log.error("a connection to the relay failed", exc_info=result)

    # --- to the client ------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Put it into the queue; a client that does not read what is in it is cut."""
        policy = self.hub.policy
        if self._over:
            return
        if len(self._waiting) >= policy.waiting_events_max or self._waiting_bytes >= policy.waiting_bytes_max:
            self.cut("it reads too slowly")
            return
        self._waiting.append(text)
        self._waiting_bytes += len(text)
        if len(self._waiting) * 2 >= policy.waiting_events_max or self._waiting_bytes * 2 >= policy.waiting_bytes_max:
            self._room.clear()
        self._wakeup.set()

    async def send_in_turn(self, text: str) -> None:
        """The same for what can wait: not before the queue has emptied by half."""
        await self._room.wait()
        self.send(text)

    def cut(self, why: str) -> None:
        """No more: what waits is not sent."""
        if not self._over:
            self._over = why
            self._waiting.clear()
            self._wakeup.set()
            self._room.set()

    async def _send_waiting(self) -> None:
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._waiting and not self._over:
                text = self._waiting.popleft()
                self._waiting_bytes -= len(text)
                await self._websocket.send_text(text)
            if self._over:
                await self._websocket.close(_TRY_AGAIN if "slowly" in self._over else _POLICY, self._over)
                return
            self._room.set()

    # --- from the client ----------------------------------------------------------------------------

    async def _read(self) -> None:
        while not self._over:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                await self._act(message.get("text"))
            except Refused as refusal:
                self._refuse(["NOTICE", str(refusal)])

    async def _act(self, text: str | None) -> None:
        try:
            value = json.loads(text or "")
        except (ValueError, RecursionError):
            raise Refused("invalid: a message must be JSON text") from None
        if not isinstance(value, list) or not value or not isinstance(value[0], str) or value[0] not in self._acts:
            raise Refused(f"invalid: a message must be a list that begins with one of {', '.join(self._acts)}")
        await self._acts[value[0]](value[1:])

    def _refuse(self, answer: list[Any]) -> None:
        """Say no; who hears it too often is cut."""
        self.send(compact(answer))
        if not self._refusals.take("", time.monotonic()):
            self.cut("too many of its messages were refused")

    async def _event(self, rest: list[Any]) -> None:
        value = rest[0] if rest else None
        told = value["id"][:64] if isinstance(value, dict) and isinstance(value.get("id"), str) else ""
        try:
            event = self._admitted(value)
        except Refused as refusal:
            self._refuse(["OK", _shown(told), False, str(refusal)])
        else:
            (await self.hub.offer(event)).add_done_callback(lambda done: self._answer(told, done))

    def _answer(self, told: str, done: asyncio.Future[Verdict]) -> None:
        """What became of an event, as soon as it is known; meanwhile the client may send more."""
        if done.cancelled():
            return
        verdict = done.result()
        if isinstance(verdict, ChoirError):
            self._refuse(["OK", told, False, _sentence("error", verdict)])
        elif verdict.accepted:
            self.send(compact(["OK", told, True, verdict.told]))
        else:
            self._refuse(["OK", told, False, verdict.told])

    def _admitted(self, value: Any) -> NostrEvent:
        """The event, if it is one and this client and its key may bring one now."""
        hub, now = self.hub, time.monotonic()
        if not self._events.take("", now) or not hub.address_events.take(self.address, now):
            raise Refused("rate-limited: too many events; try again in a minute")
        try:
            event = hub.relay.read(value)
        except BadEvent as error:
            raise Refused(_sentence("invalid", error)) from None
        if not hub.key_events.take(event.pubkey, now):
            raise Refused("rate-limited: too many events of this key; try again in a minute")
        if event.kind == AUTH_KIND:
            raise Refused("invalid: send it as AUTH")
        if event.has("-") and event.pubkey not in self.keys:
            raise Refused("auth-required: only its author may publish this event")  # NIP-70
        return event

    async def _req(self, rest: list[Any]) -> None:
        name = self._name(rest)
        self._end(name)
        try:
            self._check_room()
            filters = self._filters(rest[1:])
        except Refused as refusal:
            self._refuse(["CLOSED", name, str(refusal)])
            return
        subscription = Subscription(self, name, filters)
        self._subscriptions[name] = subscription
        self.hub.subscribe(subscription)  # first, so that nothing is missed between the two
        reading = asyncio.create_task(self._tell_stored(subscription))
        self._readings[name] = reading
        await asyncio.wait({reading})  # one question after the other: more wait in the client's connection

    def _check_room(self) -> None:
        if len(self._subscriptions) >= self.hub.policy.subscriptions_max:
            raise Refused("restricted: too many subscriptions; close one")

    async def _tell_stored(self, subscription: Subscription) -> None:
        try:
            await self.hub.listening()  # else what is stored now and what is heard later would have a gap between them
            for wanted in subscription.filters:
                await self._tell_stored_of(subscription, wanted)
            subscription.go_live()
        except ChoirError as error:
            self._end(subscription.name)
            self._refuse(["CLOSED", subscription.name, _sentence("error", error)])

    async def _tell_stored_of(self, subscription: Subscription, wanted: Filter) -> None:
        most = self.hub.policy.filter_events_max
        left = most if wanted.limit is None else min(wanted.limit, most)
        after: tuple[int, bytes] | None = None
        while left > 0:
            page = await self.hub.ask(partial(self._page, wanted, min(left, _PAGE_ROWS), after))
            await subscription.tell_stored(page)
            left -= len(page.ids)
            after = page.last
            if after is None:
                return

    def _page(self, wanted: Filter, rows: int, after: tuple[int, bytes] | None) -> Page:
        with self.hub.node.read() as tx:
            return self.hub.relay.page(tx, wanted, self.keys, rows, after)

    async def _count(self, rest: list[Any]) -> None:
        name = self._name(rest)
        try:
            (wanted,) = self._filters(rest[1:], most=1)
            found, more = await self.hub.ask(lambda: self._counted(wanted))
        except Refused as refusal:
            self._refuse(["CLOSED", name, str(refusal)])
        except ChoirError as error:
            self._refuse(["CLOSED", name, _sentence("error", error)])
        else:
            self.send(compact(["COUNT", name, {"count": found, **({"approximate": True} if more else {})}]))

    def _counted(self, wanted: Filter) -> tuple[int, bool]:
        with self.hub.node.read() as tx:
            return self.hub.relay.count(tx, wanted, self.keys)

    async def _close(self, rest: list[Any]) -> None:
        self._end(self._name(rest))

    async def _auth(self, rest: list[Any]) -> None:
        told = ""
        try:
            event = parse_event(rest[0] if rest else None)
            told = event.id.hex()
            self._check_auth(event)
            event.verify()
        except BadEvent as error:
            self._refuse(["OK", told, False, _sentence("invalid", error)])
        except Refused as refusal:
            self._refuse(["OK", told, False, str(refusal)])
        else:
            self.keys |= {event.pubkey}
            self.send(compact(["OK", told, True, ""]))

    def _check_auth(self, event: NostrEvent) -> None:
        """That it was made for this connection, here and now (NIP-42)."""
        if event.kind != AUTH_KIND:
            raise Refused(f"invalid: the event's kind must be {AUTH_KIND}")
        if abs(event.created_at - self.hub.relay.now_s) > self.hub.policy.auth_s_max:
            raise Refused("invalid: the event is too old, or of the future")
        if event.values("challenge") != [self._challenge]:
            raise Refused("invalid: the event is for another challenge")
        named = event.values("relay")
        if len(named) != 1 or _host(named[0]) not in self._own_addresses:
            raise Refused("invalid: the event is for another relay")
        if len(self.keys | {event.pubkey}) > self.hub.policy.keys_per_connection_max:
            raise Refused("restricted: too many keys on one connection")

    def _name(self, rest: list[Any]) -> str:
        most = self.hub.policy.subscription_chars_max
        if not rest or not isinstance(rest[0], str) or not 1 <= len(rest[0]) <= most or not _is_text(rest[0]):
            raise Refused(f"invalid: a subscription has a name of 1 to {most} characters")
        return rest[0]

    def _filters(self, values: Sequence[Any], most: int | None = None) -> tuple[Filter, ...]:
        most = most or self.hub.policy.filters_max
        if not self.hub.address_queries.take(self.address, time.monotonic()):
            raise Refused("rate-limited: too many subscriptions and counts; try again in a minute")
        if not 1 <= len(values) <= most:
            raise Refused(f"unsupported: there must be 1 to {most} filters")
        try:
            found = tuple(parse_filter(value, self.hub.relay.filter_limits) for value in values)
        except Invalid as error:
            raise Refused(_sentence("invalid", error)) from None
        if not self.keys and any(wanted.kinds and wanted.kinds <= PRIVATE_KINDS for wanted in found):
            raise Refused("auth-required: only their author and their recipient may read these events")
        return found

    def _end(self, name: str) -> None:
        subscription = self._subscriptions.pop(name, None)
        if subscription is not None:
            subscription.ended = True
            self.hub.unsubscribe(subscription)
        self._readings.pop(name, None)

    def close_subscriptions(self, why: str) -> None:
        """The client has to ask again."""
        for name in tuple(self._subscriptions):
            self._end(name)
            self.send(compact(["CLOSED", name, why]))


def _sentence(word: str, error: ChoirError) -> str:
    return f"{word}: {str(error)[:_REASON_CHARS]}"


def _shown(text: str) -> str:
    """What a client sent, if it can be sent back."""
    return text if _is_text(text) else ""


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""
