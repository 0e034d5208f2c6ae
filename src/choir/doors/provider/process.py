"""`choir provider serve`: everything put together, with signals and an orderly end.

The first Ctrl-C or SIGTERM drains: what is at work may finish, for a while. The second stops it and gives it back.

Guarantees: when it says that it stopped, no sandbox of this process runs and its folder is free for another; if it
could not begin, it leaves no folder behind that was not there.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.providers.model import ResultKeyTaken
from choir.doors.provider import enrolment, machine, seller
from choir.doors.provider.carrier import Carrier
from choir.doors.provider.clocks import NodeClock
from choir.doors.provider.home import ProviderHome
from choir.doors.provider.loop import ProviderLoop
from choir.doors.provider.machine import Machine
from choir.doors.provider.model import KeyOfAnother, ServeOptions, Tell
from choir.doors.provider.news import Listener
from choir.doors.provider.orders import OrderFetcher
from choir.doors.provider.report import Journal, JsonLines, Lines, Sink
from choir.doors.provider.seller import Seller
from choir.doors.sdk import homes
from choir.foundation.policy import Policy
from choir.identity.keys.nostr_keys import npub, public_of

_JOIN_S = 0.1
_PLAY = "This is a development node on this machine, so its jobs run here"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last one: the terminal is gone


def serve(
    home: ProviderHome, wanted: ServeOptions, policy: Policy, *, node: str | None = None, key_file: Path | None = None,
    public_url: str | None = None, as_json: bool = False,
) -> None:  # fmt: skip
    """Serve a provider until a signal ends it."""
    signals = Signals()
    clock = NodeClock()
    with signals.heard(), ExitStack() as locked:
        locked.enter_context(home.locked())
        with _shown(as_json, locked.close) as (tell, show):
            key = home.result_key()
            with machine.started(home, wanted, key, clock, policy) as at_hand:  # before anybody is bothered
                found = seller.find(home, node, key_file, public_url, name=wanted.name, clock=clock)
                assert found is not None
                _introduce(found, at_hand, tell)
                _serve(found, wanted, policy, at_hand, tell, show, signals)


def _introduce(found: Seller, at_hand: Machine, tell: Tell) -> None:
    """Say who sells, and what is to be known about that."""
    home, clock = found.home, found.clock
    tell("seller", who=found.shown, owner=found.owner, node=found.url)
    for remark in (found.remark, at_hand.loose and f"{_PLAY}, though {at_hand.loose}."):
        if remark:
            tell("remark", text=remark)
    tell("keys", result_key=npub(public_of(home.result_key())), file=str(home.result_key_file))
    if clock.ahead_us:
        tell("skew", ahead_s=round(clock.ahead_s, 1))


def _serve(
    found: Seller,
    wanted: ServeOptions,
    policy: Policy,
    at_hand: Machine,
    tell: Tell,
    show: Callable[[ProviderLoop], None],
    signals: Signals,
) -> None:
    with found.client() as client:
        found.home.keep()
        try:
            provider = enrolment.enrol(client, found.owner, found.home.result_key(), wanted, at_hand)
        except ResultKeyTaken:
            raise KeyOfAnother(home=found.home.folder) from None
        homes.declare(client)  # whoever buys from the same home is not independent of it
        fetcher = OrderFetcher(client, frozenset(at_hand.types), policy)
        carrier = Carrier(client, at_hand.pool, fetcher, at_hand.folder, tell)
        loop = ProviderLoop(
            client, at_hand.pool, carrier, found.clock, policy.of(WorkersPolicy), tell,
            version=f"choir {version('choir')}", drain_s=wanted.drain_s,
        )  # fmt: skip
        loop.begin_counting()
        tell(
            "serving", provider=provider.id, types=[kind.value for kind in at_hand.types],
            workers=", ".join(wanted.workers), capacity=wanted.capacity, isolation=wanted.isolation.label,
        )  # fmt: skip
        for worker in at_hand.pool.health().workers:
            if worker.problem:
                tell("unwell", worker=worker.name, why=worker.problem)
        show(loop)
        listener = Listener(found.client, loop.wake, loop.no_events, tell)
        listener.start()
        try:
            signals.until_done(loop)
        finally:
            listener.close()


class Signals:
    """Counts signals, and passes them on from an ordinary thread: a handler itself may take no lock."""

    def __init__(self) -> None:
        self._count = 0
        self._loop = False
        self._error: BaseException | None = None

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM are ours for a while. Before there is anything to drain, they end the process."""
        before = {number: signal.signal(number, self._take) for number in _ENDING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if not self._loop:
            raise KeyboardInterrupt

    def until_done(self, loop: ProviderLoop) -> None:
        """Let it serve; raises what it ended with."""
        thread = threading.Thread(target=self._run, args=(loop,), name="choir-provider", daemon=True)
        self._loop = True
        thread.start()
        while thread.is_alive():
            if self._count > 1:
                loop.stop_now()
            elif self._count:
                loop.drain()
            thread.join(_JOIN_S)
        if self._error is not None:
            raise self._error

    def _run(self, loop: ProviderLoop) -> None:
        try:
            loop.run()
        except BaseException as error:  # raised in the thread that waits
            self._error = error


@contextmanager
def _shown(as_json: bool, free: Callable[[], None]) -> Iterator[tuple[Tell, Callable[[ProviderLoop], None]]]:
    """Where it is told: JSON lines, a live view on a terminal, or plain lines. The end is told when all is free."""
    from choir.doors.provider.view import Board, live

    board = Board()
    on_terminal = sys.stdout.isatty() and not as_json
    sinks: list[Sink] = [JsonLines(sys.stdout)] if as_json else [] if on_terminal else [Lines(sys.stdout)]
    tell = Journal([*sinks, board])
    with live(board) if on_terminal else nullcontext():
        try:
            yield tell, lambda loop: setattr(board, "loop", loop)
        finally:
            if board.loop is not None:
                free()
                tell("stopped", **board.loop.summary())
