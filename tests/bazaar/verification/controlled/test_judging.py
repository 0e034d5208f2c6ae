"""What the report of a control run amounts to."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from choir.bazaar.jobs.model import Strength
from choir.bazaar.verification.controlled import judging
from choir.bazaar.verification.controlled.draws import Draw, Known, draw
from choir.bazaar.verification.controlled.judging import RunForm, judge
from choir.bazaar.verification.controlled.others import Chance
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.reports import Outcome, Report

FILE = "tests/test_a.py"
SUITE = read_suite(
    b"def test_see():\n    assert f() == 42\n\n\n"
    b"def test_hold():\n    assert f() == Point(7)\n\n\ndef test_none():\n    f()\n"
)
SEE, HOLD, NONE = ((FILE, name) for name in ("test_see", "test_hold", "test_none"))


def form(
    changed: tuple[int, ...] = (), failing: tuple[tuple[str, str], ...] = (), known: Known | None = None
) -> RunForm:
    drawn: Draw = draw(SUITE, known or Known(), changed, Chance(random.Random(1)))
    return RunForm({FILE: drawn}, {FILE: 0}, {FILE: known or Known()}, frozenset(failing), {SEE: 1, HOLD: 1, NONE: 1})


def report(sites: Mapping[tuple[str, int], Any], **outcomes: Outcome) -> Report:
    nodes = {f"{FILE}::{name}": outcomes.get(name, Outcome.PASSED) for name in ("test_see", "test_hold", "test_none")}
    told = tuple((f"{FILE}::{name}", number, value) for (name, number), value in sites.items())
    return Report(
        0,
        "",
        True,
        True,
        collected=dict.fromkeys(nodes, (True, FILE)),
        outcomes=nodes,
        has_collected=True,
        end_code=0,
        sites=told,
    )


GOOD = {("test_see", 0): ["i", "2a"], ("test_hold", 1): ["y"]}


def test_what_right_code_says_is_good_and_counts() -> None:
    found = judge(form(), report(GOOD))
    assert found.fault == judging.GOOD
    assert found.strengths[SEE] is Strength.OUTSIDE


def test_a_changed_site_that_does_not_hold_is_held_blind() -> None:
    found = judge(form(changed=(1,)), report(GOOD | {("test_hold", 1): ["x"]}))
    assert found.fault == judging.GOOD
    assert found.strengths[HOLD] is Strength.BLIND


@pytest.mark.parametrize(
    ("sites", "fault"),
    [
        (GOOD | {("test_see", 0): ["i", "2b"]}, judging.FAILED),
        (GOOD | {("test_hold", 1): ["x"]}, judging.FAILED),
        (GOOD | {("test_hold", 1): "maybe"}, judging.FAILED),
        ({("test_hold", 1): ["y"]}, judging.BYPASSED),
        ({("test_see", 0): ["i", "2a"]}, judging.BYPASSED),
    ],
)
def test_what_wrong_code_says_is_a_fault(sites: Mapping[tuple[str, int], Any], fault: tuple[str, str]) -> None:
    assert judge(form(), report(sites)).fault == fault


def test_a_failed_test_is_a_fault_but_where_a_changed_site_stopped_it() -> None:
    failed = report({("test_see", 0): ["i", "2a"]}, test_hold=Outcome.FAILED)
    assert judge(form(), failed).fault == judging.FAILED
    found = judge(form(changed=(1,)), failed)
    assert (found.fault, found.told) == (judging.GOOD, {(FILE, 1)})
    assert judge(form(changed=(1,)), report(GOOD, test_see=Outcome.FAILED)).fault == judging.FAILED


def test_a_changed_site_that_holds_is_unclear() -> None:
    assert judge(form(changed=(1,)), report(GOOD)).unclear == {(FILE, 1)}


def test_an_opaque_value_is_noted() -> None:
    assert judge(form(), report(GOOD | {("test_see", 0): ["?"]})).opaque == {(FILE, 0)}


def test_a_test_that_was_made_to_fail_must() -> None:
    found = judge(form(failing=(NONE,)), report(GOOD, test_none=Outcome.FAILED))
    assert (found.fault, found.strengths[NONE]) == (judging.GOOD, Strength.CONTRADICTION)
    assert judge(form(failing=(NONE,)), report(GOOD)).fault == judging.SUBVERTED


def test_a_missing_test_and_a_broken_report_are_faults() -> None:
    less = report(GOOD)
    gone = {node: item for node, item in less.collected.items() if "none" not in node}
    assert judge(form(), replace(less, collected=gone)).fault == judging.MISSING
    assert judge(form(), replace(less, sealed=False)).fault == judging.INCOMPLETE
    assert judge(form(), replace(less, stopped="timeout")).fault[0] == "tests.timed_out"


def test_a_missing_row_is_a_fault() -> None:
    suite = read_suite(
        b"@pytest.mark.parametrize('a, b', [(1, 21), (2, 22)])\ndef test_t(a, b):\n    assert f(a) == b\n"
    )
    test = (FILE, "test_t")
    drawn = draw(suite, Known(), (), Chance(random.Random(1)))
    run = RunForm({FILE: drawn}, {FILE: 0}, {}, frozenset(), {test: 1})
    nodes = [f"{FILE}::test_t[t0r{row}]" for row in range(2)]
    told = tuple((node, 0, ["i", f"{21 + row:x}"]) for row, node in enumerate(nodes))
    whole = Report(
        0,
        "",
        True,
        True,
        collected=dict.fromkeys(nodes, (True, FILE)),
        outcomes=dict.fromkeys(nodes, Outcome.PASSED),
        has_collected=True,
        end_code=0,
        sites=told,
    )
    assert judge(run, whole).fault == judging.GOOD
    assert judge(run, replace(whole, collected={nodes[0]: (True, FILE)})).fault == judging.MISSING
    assert judge(run, replace(whole, sites=(told[0], (nodes[1], 0, ["i", "15"])))).fault == judging.FAILED
