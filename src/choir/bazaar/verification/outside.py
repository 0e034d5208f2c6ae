"""Outside checks: a command that the verifier starts, whose output is compared where no tested code runs.

The tested code does not know what is expected, sees no test runner, and at V4 has to be right in two worlds: with
another date, user name, folder and environment it must write the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.bazaar.contracts import PatchGenRequest
from choir.bazaar.jobs.model import Level
from choir.bazaar.verification.reports import Report
from choir.bazaar.verification.test_runs import Bench, Setting
from choir.foundation.canonical import bytes_hash

Fault = tuple[str, str]
GOOD: Fault = ("", "")
_DAYS = 573  # far enough for another year, weekday and month
_ELSEWHERE = Setting(
    folder="home/reader/project",
    environment={
        "USER": "reader",
        "LOGNAME": "reader",
        "HOME": "/work/home/reader",
        "TZ": "Pacific/Auckland",
        "LANG": "C.UTF-8",
        "TERM": "xterm",
    },
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of an outside check."""

    fault: Fault
    settings: int
    dated: bool
    report: Report

    def evidence(self, command: str, salt: str = "") -> dict[str, Any]:
        name = bytes_hash((salt + command).encode())
        return {"command": name, "settings": self.settings, "another_date": self.dated} | self.report.summary()


def settings_of(level: Level) -> list[Setting]:
    """The worlds that a check runs in."""
    return [Setting(), elsewhere()] if level is Level.V4 else [Setting()]


def elsewhere() -> Setting:
    """The other world; with another date where the machine can show one."""
    library = faketime()
    if library is None:
        return _ELSEWHERE
    dated = {"LD_PRELOAD": str(library), "FAKETIME": f"+{_DAYS}d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return Setting(_ELSEWHERE.folder, dict(_ELSEWHERE.environment) | dated)


def faketime() -> Path | None:
    """The library that shows a program another date, where Debian's package is installed."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


def run_check(bench: Bench, tree: Path, command: str, output_sha256: str, request: PatchGenRequest) -> Checked:
    """Run a command and compare all that it writes."""
    worlds = settings_of(request.level)
    reports = [bench.run(tree, command, request.subdir, setting=world) for world in worlds]
    bad = [report for report in reports if not report.ended_well or report.stdout_sha256 != output_sha256]
    dated = len(worlds) > 1 and faketime() is not None
    return Checked(_fault(bad), len(worlds), dated, bad[0] if bad else reports[0])


def _fault(bad: list[Report]) -> Fault:
    if not bad:
        return GOOD
    if bad[0].stopped:
        return "checks.stopped", "An outside check was stopped at a limit."
    return "checks.failed", "An outside check does not write what the buyer expects."
