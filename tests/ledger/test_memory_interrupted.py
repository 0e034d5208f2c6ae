"""An interrupt in any line of a round leaves a memory that is true of its head, and a submitter that works on."""

from __future__ import annotations

import linecache
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any

import pytest

from choir.foundation.errors import Refusal
from choir.ledger.journal import memory, rounds, store
from choir.ledger.journal import submitter as submitting
from choir.ledger.journal.submitter import Submitter
from choir.storage import statements
from tests.depth import times
from tests.ledger.books import ALICE, BOB, Books, moved

FEW, MANY = 3, store.FEW_ENTRIES
FILES = {memory.__file__, rounds.__file__, store.__file__, statements.__file__}


class Interrupt:
    """Raises a KeyboardInterrupt before the n-th line that runs in these files; what repeats counts twice only."""

    def __init__(self, at: int, files: Collection[str] = FILES) -> None:
        self.left = at
        self._files = files
        self.where = ""
        self._lines: Counter[tuple[str, int]] = Counter()

    def __enter__(self) -> Interrupt:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        return self._ran if frame.f_code.co_filename in self._files else None

    def _ran(self, frame: FrameType, event: str, _arg: Any) -> Callable[..., Any]:
        if event == "line" and not self.where and not _holds_a_lock(frame):
            line = (frame.f_code.co_filename.rpartition("/")[2], frame.f_lineno)
            self._lines[line] += 1
            self.left -= self._lines[line] <= 2
            if self.left == 0:
                self.where = f"{line[0]}:{line[1]} {frame.f_code.co_name}"
                raise KeyboardInterrupt
        return self._ran


def _holds_a_lock(frame: FrameType) -> bool:
    """At the line of a `with`, also on the way out of it, where an interrupt would keep the lock for ever."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip().startswith("with ")


@pytest.fixture
def other(books: Books) -> Iterator[Submitter]:
    """As another process has it."""
    submitter = Submitter(books.ledger.appender, books.database)
    yield submitter
    submitter.close()


@pytest.mark.scaled
@pytest.mark.parametrize("news", [0, 2], ids=["alone", "with news"])
@pytest.mark.parametrize(
    "count",
    [pytest.param(1, id="one"), pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.deep)],
)
def test_an_interrupt_in_any_line_leaves_the_memory_true(books: Books, other: Submitter, count: int, news: int) -> None:
    books.fund(ALICE, 1_000_000)
    keys = iter(range(1_000_000))

    def send(submitter: Submitter, entries: int) -> None:
        batch = [[moved(f"k{next(keys)}", ALICE, BOB, 1)] for _ in range(entries)]
        assert not any(isinstance(outcome, Refusal) for outcome in submitter.submit_batch(batch))

    for at in range(1, 10_000, times(3, 1)):
        send(books.submitter, FEW)  # from here on the accounts are remembered
        if count == MANY:
            books.submitter._rounds._memory._balances.pop(BOB, None)  # so that it is asked for early
        if news:
            send(other, news)
        interrupt = Interrupt(at)
        try:
            with interrupt:
                send(books.submitter, count)
        except KeyboardInterrupt:
            pass
        assert not books.misremembered(books.submitter), interrupt.where
        if not interrupt.where:
            break
        for entries in (MANY, FEW) if count == MANY else (FEW, 1):  # whoever comes next
            before = books.balance(BOB)
            send(books.submitter, entries)
            assert books.balance(BOB) == before + entries, interrupt.where
    books.check()


@pytest.mark.scaled
@pytest.mark.parametrize("count", [1, FEW, MANY], ids=["one", "few", "many"])
def test_an_interrupt_of_whoever_leads_keeps_nobody_waiting(books: Books, count: int) -> None:
    books.fund(ALICE, 1_000_000)
    for at in range(1, 10_000, times(3, 1)):
        submitter = Submitter(books.ledger.appender, books.database)
        interrupt = Interrupt(at, {submitting.__file__})
        try:
            with interrupt:
                submitter.submit_batch([[moved(f"{at} {n}", ALICE, BOB, 1)] for n in range(count)])
        except KeyboardInterrupt:
            pass
        follower = threading.Thread(target=submitter.submit, args=[moved(f"{at} then", ALICE, BOB, 1)], daemon=True)
        follower.start()
        follower.join(30)
        assert not follower.is_alive(), interrupt.where
        submitter.close()
        if not interrupt.where:
            break
    assert at > 10
    books.check()
