"""Moving a development node's clock, for whoever wants to see what happens when time passes.

Guarantees: forward, nothing is spared: whatever would have ended by then ends, and what that is can be asked before.
Back, whatever is still to come keeps the time that was left to it, so that work goes on; what ended stays ended, and
the ledger's time stands still until the clock has caught up with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.clock import SystemClock
from choir.ledger import queries
from choir.node import Node
from choir.storage import tasks
from choir.storage.database import Tx
from choir.storage.identity import move_clock, offset_of


@dataclass(frozen=True, slots=True)
class PendingEnds:
    """What a move forward ends."""

    holds: int
    jobs: int


def ending(node: Node, tx: Tx, by_us: int) -> PendingEnds:
    """What is open now and would be over that much later."""
    until_us = SystemClock().now_us() + offset_of(tx) + by_us
    return PendingEnds(queries.holds_until(tx, until_us), node.bazaar.jobs.live_until(tx, until_us))


def advance(node: Node, tx: Tx, by_us: int) -> None:
    """Let so much time pass."""
    move_clock(tx, node.identity, offset_of(tx) + by_us)


def turn_back(node: Node, tx: Tx) -> None:
    """Back to real time."""
    by_us = offset_of(tx)
    since_us = SystemClock().now_us() + by_us
    move_clock(tx, node.identity, 0)
    tasks.turn_back(tx, since_us, by_us)
    node.bazaar.turn_back(tx, since_us, by_us)
