"""Tries whose failure must be remembered: a used challenge, a counted guess.

What raises is rolled back, and so would be the very trace that makes a try the only one. So such a use case
returns its refusal instead of raising it, and whoever owns the transaction commits before it raises: that is
`settled`. Guarantee: of a refused try nothing remains but what was written before `attempt`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from choir.foundation.errors import Refusal
from choir.storage.database import Database, Tx

T = TypeVar("T")


def attempt(tx: Tx, work: Callable[[], T]) -> T | Refusal:
    """Do the work, or undo what it wrote and return why it was refused."""
    try:
        with tx.savepoint():
            return work()
    except Refusal as refusal:
        return refusal


def settled(database: Database, work: Callable[[Tx], T | Refusal]) -> T:
    """Do the work in a transaction of its own, commit, and only then raise the refusal it may have returned."""
    done = database.run(work)
    if isinstance(done, Refusal):
        raise done
    return done
