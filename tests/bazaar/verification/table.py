"""The table of deliveries: their content, and the verdict that the verifier must reach.

The page docs/security/deliveries.md is written from it (tools/generate_deliveries_table.py), and every row is a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.verification.model import Delivery, Order
from tests.bazaar.verification.scene import Repository

Build = Callable[[Repository, Path], tuple[Order, Delivery]]


@dataclass(frozen=True)
class Case:
    """One delivery."""

    name: str
    title: str
    reason: str  # nothing: it is honest, and must pass
    build: Build
    units: int | None = None  # files that an honest one is paid for
    strict: bool = False  # verified with short limits
    rerun: bool = False
    outcome: str = ""  # in words, where there is more to say


def render(groups: Iterable[tuple[str, Iterable[Case]]]) -> str:
    """The page."""
    lines = [
        "<!-- Written by tools/generate_deliveries_table.py. Do not edit: change the tests and run it again. -->",
        "",
        "# Deliveries, hostile and honest",
        "",
        "Every row is a test with a real sandbox (`tests/bazaar/verification`). A hostile delivery is refused with the",
        "reason that is shown, and nothing is paid for it. An honest one passes, however unusual its form.",
        "[How verification works, and what it cannot prove](verification.md).",
    ]
    for title, cases in groups:
        lines += ["", f"## {title}", "", "| delivery | content | outcome |", "|---|---|---|"]
        lines += [f"| {case.name} | {case.title} | {_outcome(case)} |" for case in cases]
    return "\n".join(lines) + "\n"


def _outcome(case: Case) -> str:
    if case.outcome:
        return case.outcome
    return f"refused: `{case.reason}`" if case.reason else "passes"
