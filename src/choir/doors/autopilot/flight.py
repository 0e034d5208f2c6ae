"""A flight: what the autopilot was asked, what it ordered, and how far it came, in a file of the repository's.

Guarantees: an order is written down, with its key and budget, before it is sent, so that whoever is killed at any step
goes on with the same orders and never makes one twice; the file is replaced whole and reached the disk before the next
step; one process at a time goes on with a flight.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from choir.foundation.errors import Refusal, Unavailable
from choir.storage.processes import FolderLock

FORMAT = "choir-autopilot/1"
_BYTES_MAX = 4_000_000


class AlreadyFlying(Refusal):
    code = "autopilot.already_running"
    sentence = "Another process is at this already ({holder})."
    hint = "Wait for it, or stop it and run the same command again."


class UnreadableFlight(Unavailable):
    code = "autopilot.unreadable"
    sentence = "The record {file} cannot be read."
    hint = "What it ordered is in `choir job ls`. Remove the file to begin anew."


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted. The same wish at the same commit is the same flight."""

    node: str
    repo: str  # the folder
    base: str  # the commit that the patch is for
    test: str
    must_fail: bool  # whether the test must fail before; not known where only an issue was given
    title: str
    body: str
    budget: int  # milli-satoshi, for all orders together
    orders_max: int
    review: bool

    @property
    def id(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:20]


@dataclass(slots=True)
class Placed:
    """One order; `state` is intended, placed, passed or failed."""

    kind: str  # patch or review
    key: str
    budget: int
    body: str = ""
    state: str = "intended"
    job: str = ""
    cost: int = 0
    why: str = ""
    receipt: str = ""

    @property
    def reserved(self) -> int:
        """What it costs or may still cost."""
        return self.cost if self.state in ("passed", "failed") else self.budget


@dataclass(slots=True)
class Flight:
    """How far it came."""

    asked: Asked
    file: Path
    tested: bool = False
    orders: list[Placed] = field(default_factory=list)
    branch: str = ""
    commit: str = ""
    outcome: str = ""  # empty: it goes on

    @property
    def spent(self) -> int:
        return sum(order.cost for order in self.orders)

    @property
    def left(self) -> int:
        return self.asked.budget - sum(order.reserved for order in self.orders)

    def last(self, kind: str) -> Placed | None:
        return next((order for order in reversed(self.orders) if order.kind == kind), None)

    def intend(self, kind: str, budget: int, body: str = "") -> Placed:
        """Write an order down, before it is made."""
        assert 0 < budget <= self.left, "an order may not exceed what is left"
        number = sum(order.kind == kind for order in self.orders) + 1
        made = Placed(kind, f"autopilot-{self.asked.id}-{kind}-{number}", budget, body)
        self.orders.append(made)
        self.save()
        return made

    def save(self) -> None:
        value = {
            "format": FORMAT,
            "asked": asdict(self.asked),
            "tested": self.tested,
            "orders": [asdict(order) for order in self.orders],
            "branch": self.branch,
            "commit": self.commit,
            "outcome": self.outcome,
        }
        new = self.file.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            json.dump(value, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.file)


@contextmanager
def flying(folder: Path, asked: Asked) -> Iterator[Flight]:
    """The flight for a wish, as it was left; alone with it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FolderLock(folder / f"{asked.id}.lock")
    if not lock.acquire():
        raise AlreadyFlying(holder=lock.holder())
    try:
        file = folder / f"{asked.id}.json"
        yield _read(file, asked) if file.exists() else Flight(asked, file)
    finally:
        lock.release()


def _read(file: Path, asked: Asked) -> Flight:
    try:
        value: dict[str, Any] = json.loads(file.read_bytes()[:_BYTES_MAX])
        is_ours = value["format"] == FORMAT and value["asked"] == asdict(asked)
        orders = [Placed(**order) for order in value["orders"]]
        found = Flight(asked, file, value["tested"], orders, value["branch"], value["commit"], value["outcome"])
    except (OSError, ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise UnreadableFlight(file=str(file))
    return found
