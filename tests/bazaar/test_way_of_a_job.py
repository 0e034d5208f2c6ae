"""The way of a job as the architecture page draws it, compared with what an order really passes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import choir
from tests.bazaar.hall import Hall
from tests.bazaar.test_from_order_to_receipt import Street, street  # noqa: F401 - a fixture

SOURCES = Path(choir.__file__).parent
PAGE = (SOURCES.parents[1] / "docs" / "architecture.md").read_text()
FEATURES = ("bazaar", "identity", "ledger", "objects")


def drawn(title: str) -> list[str]:
    """The numbered modules of a way, in order."""
    picture = PAGE.partition(f"## {title}\n")[2].partition("```text\n")[2].partition("```")[0]
    found = [(int(n), path) for n, path in re.findall(r"\s(\d+) ([a-z_/]+\.py)", picture)]
    assert [n for n, _ in found] == list(range(1, len(found) + 1)), "numbered in order"
    return [path for _, path in found]


def beside(title: str) -> set[str]:
    """The modules that the text below a picture names."""
    text = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0].rpartition("```")[2]
    return set(re.findall(r"`([a-z_/]+\.py)`", text))


@contextmanager
def traced() -> Iterator[set[str]]:
    """The modules of which a function is called in this thread."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCES)):
            found.add(Path(path).relative_to(SOURCES).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def uses_the_database(module: str) -> bool:
    """Whether it is given a transaction: what only computes is beside the way."""
    return "choir.storage.database import" in (SOURCES / module).read_text()


def test_the_ways_are_short_and_their_modules_are_there() -> None:
    transfer, job = drawn("The way of a transfer"), drawn("The way of a job")
    assert 5 < len(transfer) <= 10
    assert 20 < len(job) <= 35
    named = {*transfer, *job, *beside("The way of a transfer"), *beside("The way of a job")}
    assert [path for path in sorted(named) if not (SOURCES / path).is_file()] == []


def test_a_job_passes_what_is_drawn(street: Street, hall: Hall) -> None:  # noqa: F811
    with traced() as passed:
        job, attempt = street.order("/usr/bin/python3", "-c", "print(6*7)")
        street.hand_in(attempt, street.work(job, attempt))
        street.inspection.verify(attempt.id)
        with hall.tx() as tx:
            hall.access.job(tx, street.buyer, job.id)
    known = {*drawn("The way of a job"), *beside("The way of a job")}
    of_features = {path for path in passed if path.startswith(tuple(f"{name}/" for name in FEATURES))}
    missing = sorted(path for path in of_features - known if uses_the_database(path))
    assert not missing, " ".join(missing)
    assert {path for path in known if path.startswith("bazaar/jobs/")} <= of_features | {"bazaar/jobs/orders.py"}
