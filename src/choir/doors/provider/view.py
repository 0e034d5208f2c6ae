"""The live view in a terminal: who sells, how the node sees it, what is at work, what came of the last jobs."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from choir.doors.provider.carrier import AttemptRun
from choir.doors.provider.loop import ProviderLoop
from choir.doors.provider.model import ProviderReport, short_type
from choir.doors.provider.report import printable, sat, sentence
from choir.foundation.words import clock, count

_LAST = 8
_PER_SECOND = 4
_QUIET = frozenset({"seller", "keys", "serving", "qualification", "taken", "started", "handed_in"})  # seen elsewhere


class Board:
    """Gathers what is told, and draws it."""

    def __init__(self) -> None:
        self.loop: ProviderLoop | None = None
        self._facts: dict[str, Any] = {}
        self._news: deque[ProviderReport] = deque(maxlen=_LAST)
        self._counts: Counter[str] = Counter()
        self._idle_since: float | None = None

    def __call__(self, told: ProviderReport) -> None:
        if told.what in ("seller", "keys", "serving"):
            self._facts |= told.facts
        self._counts[told.what] += 1
        if told.what not in _QUIET:
            self._news.append(told)

    def draw(self) -> RenderableType:
        loop = self.loop
        if loop is None:
            return Text("Getting ready …", style="dim")
        parts: list[RenderableType] = [self._who(), self._state(loop), Text()]
        parts += [self._work(loop), Text(), self._last()]
        return Group(*parts)

    def _who(self) -> RenderableType:
        facts = {name: printable(value) for name, value in self._facts.items()}
        table = Table.grid(padding=(0, 2))
        table.add_row("seller", facts.get("who", ""))
        table.add_row("owner", facts.get("owner", ""))
        table.add_row("node", facts.get("node", ""))
        table.add_row(
            "provider", f"{facts.get('provider', '')}  {facts.get('isolation', '')}  {facts.get('workers', '')}"
        )
        return table

    def _state(self, loop: ProviderLoop) -> RenderableType:
        seen = loop.provider
        if loop.away_since is not None:
            state = Text(f"the node is unreachable for {time.monotonic() - loop.away_since:.0f} s", style="red")
        elif loop.draining:
            state = Text("stopping", style="yellow")
        elif seen is None:
            state = Text("no heartbeat yet", style="yellow")
        else:
            state = Text("online" if seen.online else "offline", style="green" if seen.online else "red")
        totals = loop.totals
        table = Table.grid(padding=(0, 2))
        table.add_row("state", state)
        if seen is not None:
            sold = [f"{short_type(offer.type)} {offer.qualification}" for offer in seen.offers if offer.offered]
            table.add_row("sells", ", ".join(sold))
            table.add_row("standing", f"tier {seen.tier}, {len(loop.at_work())} of {seen.slots} slots in use")
        back = self._counts["given_back"]
        told = f"{totals.passed} passed, {totals.failed} failed, {back} withdrawn, earned {sat(totals.earned)}"
        table.add_row("so far", told)
        return table

    def _work(self, loop: ProviderLoop) -> RenderableType:
        at_work = loop.at_work()
        if not at_work:
            self._idle_since = self._idle_since or time.monotonic()
            waiting = loop.waiting_for_verdicts()
            told = f"waiting for {count(waiting, 'verdict')}" if waiting else "waiting for work"
            return Text(f"{told}  {clock(time.monotonic() - self._idle_since)}", style="dim")
        self._idle_since = None
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("job", "type", "doing", "since", "left", "up to"):
            table.add_column(name)
        for item in at_work:
            table.add_row(*_row(item))
        return table

    def _last(self) -> RenderableType:
        return Group(*(Text(f"{told.at[11:19]}  {sentence(told)}", style=_style(told)) for told in self._news))


def _row(item: AttemptRun) -> tuple[str, ...]:
    since, left = time.monotonic() - item.taken, max(0.0, item.left_s)
    kind = short_type(item.type) if item.type else ""
    worth = sat(item.ceiling) if item.ceiling else "to qualify"
    return printable(item.job), kind, item.phase.value, f"{since:.0f} s", f"{left:.0f} s", worth


def _style(told: ProviderReport) -> str:
    if told.what == "outcome":
        return "green" if told.facts.get("state") == "passed" else "red"
    return "red" if told.what in ("away", "refused", "fault", "not_given_back") else ""


class _Drawn:
    """Asks for the drawing whenever the terminal is refreshed."""

    def __init__(self, draw: Callable[[], RenderableType]) -> None:
        self._draw = draw

    def __rich__(self) -> RenderableType:
        return self._draw()


def live(board: Board) -> AbstractContextManager[object]:
    """Show the board until the end."""
    return Live(_Drawn(board.draw), console=Console(highlight=False), refresh_per_second=_PER_SECOND)
