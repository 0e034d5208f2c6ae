"""The report of a test run, judged. Pure: what the supervisor said in, an outcome for each test out.

A test passed only if all of this agrees: it was collected, its body ran to the end, the call and the three phases
were reported without a failure, the runner's exit code is the process's, and the chain of seals is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_PHASES = ("setup", "call", "teardown")


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # also an expected failure
    NOT_RUN = "not_run"  # collected and never finished
    FORGED = "forged"  # what was reported is not what happened


@dataclass(slots=True)
class _Seen:
    watched: bool = False
    body: bool | None = None  # whether it raised
    call: bool | None = None
    code: str | None = None  # hash of what ran
    phases: dict[str, str] = field(default_factory=dict)
    xfail: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """How a test command really ended."""

    exit_code: int
    stopped: str  # "timeout", "flood" or nothing
    stated: bool  # whether the supervisor's statement came through
    sealed: bool  # whether the chain of seals in the report is whole
    stdout_sha256: str = ""
    collected: Mapping[str, tuple[bool, str]] = field(default_factory=dict)  # id -> is a function, its file
    codes: Mapping[str, str] = field(default_factory=dict)  # id -> hash of its code when it was collected
    ran: Mapping[str, str] = field(default_factory=dict)  # id -> hash of the code that really ran
    not_collected: frozenset[str] = frozenset()
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    has_collected: bool = False
    end_code: int | None = None  # what pytest itself said
    root: str = ""  # the folder that ids are relative to
    path: frozenset[str] = frozenset()
    plugins: frozenset[str] = frozenset()
    expected_failures: frozenset[str] = frozenset()
    sites: tuple[tuple[str, int, Any], ...] = ()  # what rewritten assertions said: in which test, which one, what

    @property
    def is_whole(self) -> bool:
        """Whether the run came to its end and told all of it."""
        whole = self.stated and self.sealed and self.has_collected and not self.stopped
        return whole and self.end_code is not None and self.end_code == self.exit_code

    @property
    def ended_well(self) -> bool:
        """Code 0 by the supervisor's word; all that can be said of a command that is not pytest."""
        return self.exit_code == 0 and not self.stopped and self.stated

    def with_outcome(self, outcome: Outcome) -> list[str]:
        return [node for node, found in self.outcomes.items() if found is outcome]

    def summary(self) -> dict[str, Any]:
        """For evidence. No counts and no codes: tests written for that could spell the artifact out in them."""
        return {
            "ended_well": self.ended_well,
            "stopped": self.stopped,
            "stated": self.stated,
            "sealed": self.sealed,
            "reported": self.has_collected and self.end_code is not None,
        }


def read_report(body: Mapping[str, Any]) -> Report:
    """From the supervisor's sealed statement. The frames in it come from the tested process: nothing is assumed."""
    collected: dict[str, tuple[bool, str]] = {}
    codes: dict[str, str] = {}
    seen: dict[str, _Seen] = {}
    facts: dict[str, Any] = {}
    missing: set[str] = set()
    sites: list[tuple[str, int, Any]] = []
    has_collected, end_code = False, None
    for frame in body["frames"]:
        if not isinstance(frame, dict):
            continue
        kind, node = frame.get("k"), str(frame.get("id", ""))
        if kind == "collected" and not has_collected:
            has_collected = True
            items = frame.get("items", [])
            collected = {str(item[0]): (bool(item[1]), str(item[2])) for item in items}
            codes = {str(item[0]): str(item[3]) for item in items}
        elif kind == "not_collected" and frame.get("outcome") != "skipped":
            missing.add(node)
        elif kind == "facts":
            facts = frame
        elif kind == "site":
            if isinstance(frame.get("n"), int):
                sites.append((node, frame["n"], frame.get("v")))
        elif kind == "end":
            end_code = frame.get("exit_code")
        else:
            _note(seen.setdefault(node, _Seen()), frame)
    return Report(
        exit_code=body["exit_code"],
        stopped=body["stopped"],
        stated=bool(body.get("stated", True)),
        sealed=bool(body["report_whole"]),
        stdout_sha256=body["stdout_sha256"],
        collected=collected,
        codes=codes,
        ran={node: item.code for node, item in seen.items() if item.code is not None},
        not_collected=frozenset(missing),
        outcomes={node: _outcome(seen.get(node)) for node in collected},
        has_collected=has_collected,
        end_code=end_code if isinstance(end_code, int) else None,
        root=str(facts.get("root", "")),
        path=frozenset(str(item) for item in facts.get("path", ())),
        plugins=frozenset(str(item) for item in facts.get("plugins", ())),
        expected_failures=frozenset(node for node, item in seen.items() if item.xfail and node in collected),
        sites=tuple(sites),
    )


def _note(seen: _Seen, frame: Mapping[str, Any]) -> None:
    kind = frame.get("k")
    if kind == "body":
        seen.body = bool(frame.get("raised")) or bool(seen.body)
        code = str(frame.get("code"))
        seen.code = code if seen.code in (None, code) else ""  # two different ones are none
    elif kind == "call":
        seen.watched = bool(frame.get("watched"))
        seen.call = bool(frame.get("raised"))
    elif kind == "report":
        when, outcome = str(frame.get("when")), str(frame.get("outcome"))
        if seen.phases.get(when) != "failed":
            seen.phases[when] = outcome
        seen.xfail = seen.xfail or bool(frame.get("xfail"))


def _outcome(seen: _Seen | None) -> Outcome:
    if seen is None or "setup" not in seen.phases or "teardown" not in seen.phases:
        return Outcome.NOT_RUN
    if "failed" in seen.phases.values():
        return Outcome.FAILED
    if seen.xfail or "skipped" in seen.phases.values():
        return Outcome.SKIPPED
    if any(seen.phases.get(phase) != "passed" for phase in _PHASES) or seen.call is None:
        return Outcome.NOT_RUN
    raised = seen.call or bool(seen.body)
    silent = seen.watched and seen.body is None
    return Outcome.FORGED if raised or silent else Outcome.PASSED
