"""Where the story is played: a node, its operator, its clock, and agents on keys of their own.

Guarantees: never on a production node; a node that was started for the story ends with it, one that ran before runs on.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from choir.doors.demo.record import Record
from choir.doors.web.rendering import money
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from choir.foundation.errors import Unavailable
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client
    from choir.foundation.settings import Settings
    from choir.node import Node
    from choir.storage.database import Tx

T = TypeVar("T")

_LOOK_S = 0.15
_WAIT_S_MAX = 300.0  # a last resort: what is waited for comes in seconds
_MINUTE_S, _DAY_S = 60, 86_400
# How often the node looks for what is due. It changes when something is noticed, not what is decided.
_QUICK = {"CHOIR_POLICY__COMMONS__LOOK_EVERY_S": "1", "CHOIR_POLICY__TREASURY__LOOK_EVERY_S": "1"}


class NothingCame(Unavailable):
    """Something that the story waited for did not happen."""

    code = "demo.nothing_came"
    sentence = "The story waited {seconds} seconds for {what}, and it did not happen."
    hint = "The node's log may say why. Run `choir demo` again: it goes on where it was."


@dataclass(frozen=True)
class Timing:
    """How long an act took, by the clock and of this process's own work."""

    act: str
    seconds: float
    cpu_seconds: float


@dataclass
class Playbill:
    """The acts so far: what was said, and how long each took."""

    say: Callable[[str], None]
    timings: list[Timing] = field(default_factory=list)

    @contextmanager
    def act(self, title: str) -> Iterator[None]:
        """One act, told and timed."""
        self.say(f"{len(self.timings) + 1}. {title}")
        began, cpu = time.monotonic(), _cpu_s()
        yield
        self.timings.append(Timing(title, round(time.monotonic() - began, 1), round(_cpu_s() - cpu, 1)))
        self.tell(f"({self.timings[-1].seconds} s)")

    def tell(self, text: str) -> None:
        """A line within an act."""
        self.say(f"   {text}")


@dataclass
class Stage:
    """A node at which the story is played."""

    settings: Settings
    url: str
    public_url: str
    operator: Client
    node: Node
    record: Record
    bill: Playbill
    _agents: dict[str, Agent] = field(default_factory=dict)
    _closing: ExitStack = field(default_factory=ExitStack)

    def tell(self, text: str) -> None:
        self.bill.tell(text)

    def agent(self, role: str) -> Agent:
        """Whoever plays a role: a self-keyed agent, which needs nobody's leave to stand up."""
        if role not in self._agents:
            client = self._closing.enter_context(self._client(self.record.key(role)))
            name = f"demo: {role}"
            owner = self.record.once(f"agent {role}", lambda: client.agents.stand(name).owner)
            self._agents[role] = Agent(role, owner, client)
        return self._agents[role]

    def _client(self, secret: str) -> Client:
        from choir.doors.sdk.auth import NostrKey
        from choir.doors.sdk.client import Client

        return Client(self.url, auth=NostrKey(secret, public_url=self.public_url))

    def fund(self, agent: Agent, amount: str, asset: Asset) -> None:
        """Play money, once."""
        step = f"fund {agent.role} {asset.name}"
        account = f"{agent.owner}/available/{asset.name}"
        key = self.record.id_of(step)
        self.record.once(step, lambda: self.operator.fund(account, asset.parse(amount), key=key).id)

    # Time

    @property
    def now_us(self) -> int:
        """The node's time."""
        from choir.storage.identity import offset_of

        with self.node.read() as tx:
            return SystemClock().now_us() + offset_of(tx)

    def pass_until(self, at_us: int, why: str) -> None:
        """Move the node's clock to a moment; nothing happens if that is over."""
        by_us = at_us - self.now_us
        if by_us <= 0:
            return
        self.pass_time(by_us // MICROSECONDS + 1, why)

    def pass_time(self, seconds: int, why: str) -> None:
        from choir.operations import node_clock

        def move(tx: Tx) -> None:
            node_clock.advance(self.node, tx, seconds * MICROSECONDS)

        before = format_time(self.now_us)
        self.node.write(move)
        after = format_time(self.now_us)
        self.tell(f"the node's clock: {_short(before)} -> {_short(after)} (+{_span(seconds)}): {why}")

    # Waiting

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        """What comes true soon, by itself."""
        deadline = time.monotonic() + _WAIT_S_MAX
        while True:
            if found := look():
                return found
            if time.monotonic() > deadline:
                raise NothingCame(what=what, seconds=int(_WAIT_S_MAX))
            time.sleep(_LOOK_S)

    def close(self) -> None:
        self._closing.close()


@dataclass(frozen=True)
class Agent:
    """Somebody in the story."""

    role: str
    owner: str
    client: Client


def quick_looks() -> None:
    """A node that is started from here looks more often for what is due, unless its owner said how often."""
    for name, value in _QUICK.items():
        os.environ.setdefault(name, value)


@contextmanager
def set_up(settings: Settings, url: str, record: Record, bill: Playbill) -> Iterator[Stage]:
    """The stage at a node that runs on this home."""
    from urllib.parse import urlsplit

    from choir.doors.sdk.client import Client
    from choir.operations.home import operator_token
    from choir.operations.preparation import opened_node

    public = settings.public_url if settings.chose("public_url") else f"http://localhost:{urlsplit(url).port}"
    with Client(url, operator_token(settings.home)) as operator, opened_node(settings) as node:
        stage = Stage(settings, url, public, operator, node, record, bill)
        try:
            yield stage
        finally:
            stage.close()


def shown(units: str | int, asset: Asset) -> str:
    """An amount as people write it."""
    return money(int(units), asset.name)


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _short(at: str) -> str:
    return at[:16].replace("T", " ")


def _span(seconds: int) -> str:
    days, rest = divmod(seconds, _DAY_S)
    hours = round(rest / (60 * _MINUTE_S))
    return f"{days} d {hours} h" if days else f"{hours} h"
