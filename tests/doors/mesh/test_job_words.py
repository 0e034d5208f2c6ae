"""What `choir job` makes of what somebody typed, and what it says about what came back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from choir.bazaar.contracts import Approval, PatchGenRequest, ReviewFocus, ReviewIssue, Severity, StructuredReview
from choir.bazaar.jobs.model import AmbiguousPrefix, JobType, Level, Verdict
from choir.bazaar.jobs.model import Check as Checked
from choir.bazaar.policy import VerificationPolicy
from choir.doors.cli import ids
from choir.doors.cli.output import Ticker, day_and_time, may_write, print_lines
from choir.doors.jobs.commands import buyer, explain, inputs, no_provider, options
from choir.doors.jobs.commands.checks import checks_of, share_bps
from choir.doors.jobs.commands.lookup import lines_of, shown_check
from choir.doors.jobs.commands.verify import _word
from choir.doors.jobs.commands.watch import View, _words, headline
from choir.doors.mesh.machine_buyer import BuyerNeeded
from choir.doors.mesh.model import Check
from choir.doors.mesh.proof import SIGNS, Sureness, proof_of
from choir.doors.mesh.recheck import _side_by_side, facts
from choir.doors.sdk.errors import NoNode
from choir.doors.sdk.target import ChosenCredential
from choir.foundation.errors import Invalid, NotAllowed
from choir.foundation.settings import load_settings
from tests.doors.servers import answer, script

NODE = {
    "id": "node_1", "origin": "x", "key": "x", "version": "1", "policy": "x", "entries": 0,
    "now": "2026-11-16T05:00:00.000000Z",
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "strategy"),
    [
        ((None, None, None, None), {}),
        (("first_available", None, None, None), {"kind": "first_available"}),
        ((None, 3, None, None), {"kind": "race", "count": 3}),
        ((None, None, "provider_1", None), {"kind": "pinned", "provider": "provider_1"}),
        ((None, None, None, ["a", "b"]), {"kind": "preferred_then_pool", "preferred": ["a", "b"]}),
    ],
)
def test_who_shall_try_is_read(asked: Any, strategy: dict[str, Any]) -> None:
    assert options.strategy_of(*asked) == strategy


def test_what_cannot_be_meant_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(Invalid, match="--race and --pin"):
        options.strategy_of(None, 2, "provider_1", None)
    with pytest.raises(Invalid, match="random"):
        options.strategy_of("random", None, None, None)
    with pytest.raises(Invalid, match="--depth"):
        inputs.check_words([], "deep")
    with pytest.raises(Invalid, match="--focus"):
        inputs.check_words(["looks"], "quick")
    with pytest.raises(Invalid, match="NAME=VALUE"):
        inputs.pair("PATH")
    assert options.criteria_of(97.5, ["eu"], "gvisor") == {
        "min_success_bps": 9750,
        "regions": ["eu"],
        "min_isolation": "gvisor",
    }


def test_hidden_tests_lie_where_the_commands_run(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for place in (tmp_path / "test_x.py", tmp_path / "a" / "test_x.py"):
        place.write_text("x")
    commands, files = inputs.hidden_of([tmp_path / "test_x.py"], "tools/calculator")
    assert commands == ["python3 -m pytest -q test_x.py"]
    assert files == {"tools/calculator/test_x.py": b"x"}
    with pytest.raises(Invalid, match="two files have that name"):
        inputs.hidden_of([tmp_path / "test_x.py", tmp_path / "a" / "test_x.py"], "")


def test_play_money_is_never_spent_at_a_production_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    settings = load_settings(environment={"CHOIR_HOME": str(tmp_path)})
    with script(answer(200, json.dumps(NODE | {"mode": "production"}))) as server:
        chosen = ChosenCredential("op_x", "operator", "a test")
        with (
            pytest.raises(BuyerNeeded) as refused,
            buyer._machine(settings, server.url, chosen, quiet=True),
        ):
            pass
        assert len(server.requests) == 1
    assert "choir login" in refused.value.advice
    assert list(tmp_path.iterdir()) == []  # no key was made either


def test_findings_are_told_with_file_and_line() -> None:
    issue = ReviewIssue(Severity.HIGH, ReviewFocus.SECURITY, "a.py", (3, 4), "eval of\nwhat came in", "x", "y")
    lines = StructuredReview("Read it.", Approval.REQUEST_CHANGES, (issue,)).lines()
    assert lines[:3] == ["Read it.", "a.py:3: high (security): eval of what came in", "    y"]
    assert lines[-1] == "Verdict of the review: request changes."


def test_why_nobody_takes_a_job_is_said() -> None:
    def because(**tally: int) -> str:
        return no_provider.nobody_because({"nobody_because": tally})

    assert because(known=0, full=0) == "no provider here sells this type of work"
    assert because(known=3, full=2, not_qualified=1, silent=0) == (
        "of 3 providers of this type, 1 has not passed its qualification job, 2 are busy"
    )
    assert because(known=1, not_taking=1, silent=1) == (
        "the only provider of this type is not taking work and does not answer"
    )
    assert because(known=1) == "no provider of this type meets the budget and your other criteria"
    assert [no_provider.duration(seconds) for seconds in (59, 60, 3_600, 6_300)] == [
        "59 seconds", "1 minute", "1 hour", "1 hour 45 minutes",
    ]  # fmt: skip


def waiting(type_: str = "sandbox_run", *attempts: tuple[str, str], **strategy: str) -> Any:
    made = [SimpleNamespace(id=f"attempt_{name}", state=state, provider=name) for name, state in attempts]
    return SimpleNamespace(
        id="job_1", type=type_, state="open", closed_at=None, budget="276000", extras="0", criteria={},
        strategy=strategy, attempts=made, expires_at="2026-11-16T06:45:03.000000Z",
    )  # fmt: skip


def node_with(*candidates: str, **tally: int) -> Any:
    """A client of a node with such a market."""
    explanation = {"candidates": [{"provider": name} for name in candidates]} | (
        {} if candidates else {"nobody_because": tally}
    )
    asked: list[Any] = []

    def select(*words: Any) -> Any:
        asked.append(words)
        return SimpleNamespace(explanation=explanation)

    jobs = SimpleNamespace(select=select, steps=lambda _: SimpleNamespace(items=[]), asked=asked)
    return SimpleNamespace(jobs=jobs, node=lambda: SimpleNamespace(now=NODE["now"]))


@pytest.mark.parametrize(
    ("type_", "helps"),
    [
        ("sandbox_run", "choir provider serve --worker run"),
        ("code_review", "choir provider serve --worker review"),
        ("patch_gen", "choir provider serve --worker claude-code"),
        ("text_gen", "No built-in worker writes texts"),
    ],
)
def test_who_orders_what_nobody_sells_is_told_at_once(
    type_: str, helps: str, capsys: pytest.CaptureFixture[str]
) -> None:
    View(node_with(known=0), "stderr", None, as_json=False).look(waiting(type_))
    told = capsys.readouterr().err
    assert told.startswith("No provider can take it now: no provider here sells this type of work.\n")
    assert "The order stands, and 276.000 SAT are held: it waits for a provider until 06:45 UTC, for 1 hour" in told
    assert "Ctrl-C only stops waiting. Cancel the order with: choir job cancel job_1\n" in told
    assert helps in told


def test_only_what_would_help_is_advised() -> None:
    def advice(job: Any = None, **tally: int) -> str:
        return no_provider.help_with(job or waiting(), tally)

    assert "qualification job" in advice(known=1, not_qualified=1)
    assert advice(known=1, full=1) == ""
    assert "--budget" in advice(known=1)
    assert "--isolation" in advice(known=2, isolation=2)
    assert "provider serve" in advice(known=1, not_taking=1, silent=1)
    pinned = waiting("sandbox_run", kind="pinned", provider="provider_1")
    assert "--pin" in advice(pinned, known=1, silent=1)


def test_a_pinned_job_waits_for_one_provider_whoever_else_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    node = node_with(known=2, silent=1)
    assert no_provider.tell(node, waiting("sandbox_run", kind="pinned", provider="provider_1"))
    assert node.jobs.asked[0][2] == {"providers": ["provider_1"]}
    assert "provider_1 cannot take it" in capsys.readouterr().err


def test_who_waits_for_busy_or_spent_providers_is_told_when_it_is_so(capsys: pytest.CaptureFixture[str]) -> None:
    def told(node: Any, job: Any, later_s: float = 0) -> str:
        view = View(node, "stderr", None, as_json=False)
        view.look(job)
        view._changed_s -= later_s
        view.look(job)
        view.look(job)
        return capsys.readouterr().err

    busy = node_with(known=1, full=1)
    assert told(busy, waiting()) == ""
    assert told(busy, waiting(), 60).count("the only provider of this type is busy") == 1
    there = node_with("provider_1")
    failed = told(there, waiting("sandbox_run", ("provider_1", "withdrawn")))
    assert failed.count("every provider that could has failed it or withdrawn") == 1
    assert "provider serve" not in failed
    assert told(there, waiting("sandbox_run", ("provider_1", "gone")), 60) == ""  # that one is asked again


def test_who_may_only_read_is_told_nothing_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(*_: Any) -> Any:
        raise NotAllowed(why="it may only read")

    node = node_with()
    node.jobs.select = refuse
    View(node, "stderr", None, as_json=False).look(waiting())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("state", "reason", "said", "told"),
    [
        ("failed", "run.exit_code", "", "A provider that failed a job is not selected for it again."),
        ("withdrawn", "bazaar.withdrawn", "Too hard.", "A provider that cannot do a job is not selected for it again."),
        ("gone", "bazaar.withdrawn", "The provider is stopping.", "It is selected again only if no other provider"),
        ("gone", "bazaar.provider_gone", "", "It stopped answering. It is selected again only if no other provider"),
        ("cancelled", "bazaar.called_off", "", "It ended without a verdict: it was cancelled."),
    ],
)  # fmt: skip
def test_why_somebody_is_not_asked_again_is_explained(state: str, reason: str, said: str, told: str) -> None:
    assert told in explain.outcome({"state": state, "reason": reason, "said": said})


def test_reasons_are_told_in_words_and_with_what_passed_for_nothing() -> None:
    assert "`choir doctor` there" in _words("unverifiable", {"reason": "bazaar.no_sandbox"}, {})
    assert _words("unverifiable", {"reason": "order.x", "said": "The tests pass."}, {}).endswith("The tests pass.")
    assert shown_check(Check("re-run", True, details="Not run again.")) == "skipped  re-run: Not run again."
    assert shown_check(Check("hash", True)) == "passed  hash"
    assert shown_check(Check("lines", False, "review.lines_absent")).endswith("lines that the diff does not show")
    assert _word(Check("tests", False, "tests.failed")) == "failed: the buyer's tests fail"
    assert _words("failed", {"reason": "review.planted_missed"}, {}).endswith("and the review names none")


def test_a_node_that_is_not_there_is_not_taken_for_a_missing_login() -> None:
    with pytest.raises(NoNode):
        buyer._must_answer("http://127.0.0.1:9")


def test_a_result_that_could_not_be_kept_is_refused_before_it_is_bought(tmp_path: Path) -> None:
    may_write(tmp_path / "new", force=False)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        may_write(tmp_path / "nowhere" / "new", force=True)


def test_two_verdicts_are_compared_check_by_check() -> None:
    theirs = (Check("hash", True), Check("tests", True), Check("trajectory", True))
    good = Verdict(True, (Checked("hash", True), Checked("tests", True), Checked("re-run", True)), 0, "bubblewrap")
    fine = _side_by_side(theirs, True, good, Check("trajectory", True))
    assert fine.differences == ()
    assert [(line.name, line.theirs is None) for line in fine.lines][-1] == ("re-run", True)
    bad = Verdict(False, (Checked("hash", True), Checked("tests", False, "patch.tests_fail")), 0, "bubblewrap")
    assert _side_by_side(theirs, True, bad, Check("trajectory", True)).differences == ("tests",)
    short = Verdict(False, (Checked("hash", False, "x"),), 0, "bubblewrap")
    assert _side_by_side(theirs, True, short, Check("trajectory", True)).differences == ("hash", "tests")
    again = Verdict(False, (*good.checks[:2], Checked("re-run", False, "run.differs")), 0, "bubblewrap")
    assert _side_by_side(theirs, True, again, Check("trajectory", True)).differences == ("re-run",)
    forged = _side_by_side(theirs, True, good, Check("trajectory", False, "trajectory.forged"))
    assert forged.differences == ("trajectory",)
    assert not forged.ours_passed


def test_times_are_as_short_as_those_of_ls() -> None:
    now = "2026-11-16T05:00:00.000000Z"
    assert day_and_time("2026-11-16T04:59:58.000000Z", now) == "16 Nov 04:59"
    assert day_and_time("2026-06-01T23:10:00.000000Z", now) == "01 Jun 23:10"
    assert day_and_time("2025-11-16T04:59:58.000000Z", now) == "16 Nov  2025"
    assert day_and_time("2027-01-02T00:00:00.000000Z", now) == "02 Jan  2027"  # another's clock


def job_of(**more: Any) -> Any:
    known = {
        "id": "job_01j9zq7d3zj9ywb4q6r7f8g9ha", "type": JobType.CODE_REVIEW, "state": "cancelled", "price": None,
        "budget": "20000000", "closed_at": None, "created_at": "2026-11-16T04:59:58.000000Z",
        "summary": "commit 01234567; standard, all",
    }  # fmt: skip
    return SimpleNamespace(**known | more)


def test_the_widest_job_fits_80_columns_and_says_what_was_ordered() -> None:
    head, first, what = lines_of([job_of()], 80)
    assert max(map(len, (head, first, what))) <= 80
    assert first.split()[:3] == ["job_01j9zq7d3zj9ywb4q6r7f8g9ha", "review", "cancelled"]
    assert what == "  commit 01234567; standard, all"
    assert len(lines_of([job_of(summary=None)], 80)) == 2  # its buyer was erased
    head, line = lines_of([job_of()], 160)
    assert head.endswith("what")
    assert line.endswith("commit 01234567; standard, all")


def test_what_a_stranger_ordered_cannot_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    job = job_of(summary="\x1b[2Jgone [bold]x")
    print_lines(lines_of([job], 160))
    shown = capsys.readouterr().out + headline(job)
    assert "\x1b" not in shown
    assert shown.count("[bold]x") == 2


def test_a_whole_id_costs_no_request_and_a_beginning_is_looked_up() -> None:
    id_ = "job_01j9zq7d3zj9ywb4q6r7f8g9ha"
    asked: list[str] = []

    def find(prefix: str) -> Any:
        asked.append(prefix)
        return SimpleNamespace(id=id_)

    client = cast("Any", SimpleNamespace(ids=SimpleNamespace(find=find)))
    assert ids.whole(client, "job", id_) == ids.whole(client, "job", id_[4:]) == id_
    assert asked == []
    assert ids.whole(client, "job", "01j9zq7d3z") == ids.whole(client, "job", "job_01j9zq7d3z") == id_
    assert asked == ["job_01j9zq7d3z"] * 2
    strategy = {"kind": "preferred_then_pool", "preferred": ["01j9zq7d3z", f"provider_{id_[4:]}"]}
    ids.name_providers(client, strategy)
    assert strategy["preferred"] == [id_, f"provider_{id_[4:]}"]
    assert asked[2:] == ["provider_01j9zq7d3z"]


def test_an_attempt_is_named_by_the_beginning_of_its_id_among_those_of_its_job() -> None:
    one, other = f"attempt_01j9zq7d3z{'0' * 16}", f"attempt_01j9zq7d3z{'1' * 16}"
    job = cast("Any", SimpleNamespace(attempts=[SimpleNamespace(id=one), SimpleNamespace(id=other)]))
    assert ids.attempt_of(job, None) is None
    assert ids.attempt_of(job, one[:20]) == ids.attempt_of(job, one[8:20]) == one
    with pytest.raises(AmbiguousPrefix, match=other):
        ids.attempt_of(job, "01j9zq7d3z")
    assert ids.attempt_of(job, "01jz") == "attempt_01jz"  # the node says that there is none


REPORTED, BY_CODE = Check("tests", passed=True), Check("tests by exit code", passed=True)
HIDDEN = Check("hidden check 1", passed=True, hidden=True)


@pytest.mark.parametrize(
    ("type_", "checks", "word", "checked", "more"),
    [
        (JobType.SANDBOX_RUN, [Check("re-run", passed=True)], "Verified", "re-ran it", ""),
        (
            JobType.SANDBOX_RUN,
            [Check("re-run", passed=True, details="Not run again: not deterministic.")],
            "Accepted",
            "exit code and output hash are as claimed by the provider; not re-run",
            "--deterministic",
        ),
        (
            JobType.SANDBOX_RUN,
            [Check("re-run", passed=True, details="Not run again: not drawn.")],
            "Accepted",
            "not re-run (only a random sample is)",
            "",
        ),
        (JobType.SANDBOX_RUN, [], "Accepted", "not re-run", "--deterministic"),
        (JobType.PATCH_GEN, [REPORTED], "Verified", "(V2)", ""),
        (JobType.PATCH_GEN, [REPORTED, HIDDEN], "Verified", "(V3)", ""),
        (JobType.PATCH_GEN, [BY_CODE], "Accepted", "weak verdict (V1)", "pytest or unittest command"),
        (JobType.PATCH_GEN, [BY_CODE, HIDDEN], "Verified", "(V3)", ""),
        (JobType.TEXT_GEN, [], "Accepted", "not its content", ""),
        (JobType.CODE_REVIEW, [], "Accepted", "not whether it is right", ""),
    ],
)
def test_what_was_checked_is_said_and_no_more(
    type_: JobType, checks: list[Check], word: str, checked: str, more: str
) -> None:
    proof = proof_of(type_, checks)
    assert (proof.word, checked in proof.checked, more in proof.more) == (word, True, True), proof
    assert bool(proof.more) == bool(more)


def test_a_verdict_s_own_level_and_strengths_are_said() -> None:
    verdict = {
        "level": "V3",
        "strengths": {"visible": {"blind": 2}, "hidden": {"outside": 9, "blind": 2, "none": 1}},
        "signs": ["names pytest (calc.py:3)"],
        "lines": {"added": 4, "deleted": 1},
        "mutants": {"noticed": 5, "made": 6},
    }
    proof = proof_of(JobType.PATCH_GEN, [BY_CODE], verdict)
    assert proof.checked == (
        "V3: hidden checks that no provider saw, held from outside the tested process;"
        " 12 hidden tests, 9 of them with values that never entered the tested process, 2 that noticed changed values,"
        " 1 not controlled; 2 visible tests, all that noticed changed values; 5 of 6 mutants noticed"
    )
    assert (proof.word, proof.signs) == ("Verified", ("names pytest (calc.py:3)",))
    told = dict(Sureness.of(verdict).told())
    assert (told["lines"], told["mutants"]) == ("4 added, 1 deleted", "the tests noticed 5 of 6")
    assert told[SIGNS] == "names pytest (calc.py:3)"
    weak = proof_of(JobType.PATCH_GEN, [REPORTED, HIDDEN], {"level": "V1"})
    assert (weak.word, "--hidden" in weak.more) == ("Accepted", True)


@pytest.mark.parametrize(
    "odd", [{"level": "V9"}, {"level": ["V3"], "strengths": [1], "signs": 3, "lines": {"added": "x"}}]
)
def test_a_verdict_that_says_odd_things_is_read_as_saying_nothing(odd: dict[str, object]) -> None:
    assert Sureness.of(odd).told() == []
    assert "(V2)" in proof_of(JobType.PATCH_GEN, [REPORTED], odd).checked


def test_verdicts_that_are_not_equally_sure_differ() -> None:
    theirs: dict[str, object] = {"level": "V3", "strengths": {"hidden": {"outside": 2}, "visible": {"blind": 1}}}
    ours = Verdict(True, (), 1000, "bubblewrap", level=Level.V3, strengths=dict(theirs["strengths"]))  # type: ignore[call-overload]
    assert not any(fact.differs for fact in facts(theirs, ours, whole=True))
    weaker = replace(ours, level=Level.V2, strengths={"visible": {"blind": 1}})
    assert [fact.name for fact in facts(theirs, weaker, whole=True) if fact.differs] == [
        "level",
        "strength of hidden tests",
    ]
    assert not any(fact.differs for fact in facts(theirs, weaker, whole=False))  # who may not see the hidden ones
    assert facts({"passed": True}, weaker, whole=True) == ()


def test_expectations_belong_to_the_check_before_them(tmp_path: Path) -> None:
    file = tmp_path / "expected.txt"
    file.write_text("84\n")
    digest = hashlib.sha256(b"84\n").hexdigest()
    given: dict[str, Any] = {
        "check": ["a", "b"],
        "hidden_check": ["h", "i"],
        "expect": [file],
        "expect_hash": [f"sha256:{'AB' * 32}", "0" * 64],
    }
    order = ["test", "check", "expect_hash", "hidden_check", "expect", "hidden_check", "check", "expect_hash"]
    seen, unseen = checks_of(order, given)
    assert [(one.command, one.output_sha256) for one in seen] == [("a", "ab" * 32), ("b", "0" * 64)]
    assert [(one.command, one.output_sha256) for one in unseen] == [("h", digest), ("i", "")]


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (["check"], "put --expect FILE or --expect-hash HASH after it"),
        (["expect_hash", "check"], "it belongs after the --check"),
        (["check", "expect_hash", "expect_hash"], "has an expected output already"),
        (["check", "expect"], "No such file"),
    ],
)
def test_an_expectation_that_fits_no_check_is_refused(order: list[str], told: str) -> None:
    given: dict[str, Any] = {"check": ["a"], "expect_hash": ["0" * 64] * 2, "expect": [Path("/no/such/file")]}
    with pytest.raises(Invalid, match=told):
        checks_of(order, given)


@pytest.mark.parametrize(("text", "bps"), [(None, 0), ("60%", 6_000), ("0", 0), ("99.5 %", 9_950), ("100", 10_000)])
def test_a_share_is_read(text: str | None, bps: int) -> None:
    assert share_bps(text) == bps


@pytest.mark.parametrize("text", ["", "a", "-1", "101%", "1e2", "60.123"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="mutation-floor"):
        share_bps(text)


def test_who_orders_by_exit_code_hears_what_that_proves(capsys: pytest.CaptureFixture[str]) -> None:
    inputs.tell_exit_code("npm test", hidden=False)
    said = capsys.readouterr().err
    assert "Only the exit code of `npm test` is checked, a weak proof (V1)" in said
    assert "--hidden adds tests" in said
    inputs.tell_exit_code("npm test", hidden=True)
    assert "--hidden" not in capsys.readouterr().err


def test_a_command_without_a_report_is_refused_with_what_to_type() -> None:
    request = {
        "title": "t", "base_commit": "0" * 40, "test_command": "npm test", "max_cost_msat": "1000", "time_limit_s": 60,
        "idempotency_key": "k",
    }  # fmt: skip
    with pytest.raises(Invalid, match="add `--exit-code`") as refusal:
        PatchGenRequest.from_json(request, VerificationPolicy())
    for word in (
        "`python3 -m pytest -q`",
        "`make test`",
        "only its exit code is checked",
        "(V1)",
        "hidden checks",
    ):
        assert word in str(refusal.value)
    PatchGenRequest.from_json(request | {"evidence": "exit_code"}, VerificationPolicy())


def test_where_no_terminal_shows_it_a_line_says_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    node = node_with("provider_1")
    view = View(node, "stderr", None, as_json=False)
    job = waiting("sandbox_run")
    view.look(job)
    capsys.readouterr()
    view.look(job)
    assert "still" not in capsys.readouterr().err
    view._said_s -= 60
    view._began_s -= 60
    view.look(job)
    assert f"{job.id} is still open after 1:0" in capsys.readouterr().err
    view.look(job)
    assert capsys.readouterr().err == ""


def test_a_text_that_ticks_shows_the_time_that_has_passed() -> None:
    ticking = Ticker("Waiting")
    assert ticking.__rich__().plain == "Waiting  0:00"
    ticking._began -= 3_725
    ticking.text = "job_1 is open"
    assert ticking.__rich__().plain == "job_1 is open  1:02:05"
