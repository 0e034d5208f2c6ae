"""`choir demo` from nothing: every act through the real doors, and what is left is what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from choir.doors.demo import files
from choir.doors.demo.knowledge import FIRST, SECOND
from choir.doors.demo.record import BadRecord, Record
from choir.foundation.money import Asset
from choir.sdk import Client, NostrKey
from tests.auditor import verifier
from tests.doors.townsfolk import public_url
from tests.operations.nodes import CHOIR, START_S_MAX, NodeUnderTest, new_node, until

FUNDED = {"a writer": {"CHIP": 200}, "a reader": {"CHIP": 200}, "a buyer": {"SAT": 50_000}}
NO_SANDBOX = {"CHOIR_POLICY__SANDBOX__STRANGER_TIER_MIN": "5"}


def demo(node: NodeUnderTest, *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own, as somebody would start it."""
    return subprocess.run(
        [*CHOIR, "demo", *more],
        env=node.environment | env,
        cwd=node.temporary,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_S_MAX,
        check=False,
    )


@pytest.fixture
def node() -> Iterator[NodeUnderTest]:
    with new_node() as made:
        yield made


@pytest.mark.slow
def test_the_story_is_played_from_nothing(node: NodeUnderTest) -> None:
    done = demo(node, "--exit", "--json")
    assert done.returncode == 0, done.stderr
    assert not (node.home / "node.json").exists()  # the node that it started is gone
    played = json.loads(done.stdout)
    made = played["made"]
    assert [item["act"][:12] for item in played["acts"]] == [
        "A developmen", "An article o", "Work is orde", "Another arti", "The books ar",
    ]  # fmt: skip
    assert made["challenge state"] == "lost"
    assert made[f"novelty {FIRST}"] > 0
    assert made[f"novelty {SECOND}"] > 0
    assert made["vested"] == made["citation amount"] == str(5 * 10**6)
    assert (made["refused"]["code"], made["refused"]["paid"]) == ("patch.deciding_test_changed", "0")
    assert "refused (patch.deciding_test_changed)" in done.stderr
    assert (made["held after refusal"], played["worked"]) == ("0", True)
    _check_books(played)
    told = verifier.run("proof", Path(played["proof"]["proof"]), "--key", played["proof"]["key"])
    assert told.code == 0, told.report
    assert played["proof"]["checked_by"].endswith("choir_verify.py")
    _check_that_it_is_only_started(node, played)


def _check_books(played: Any) -> None:
    """Nothing came from nowhere, and everybody has what the story says."""
    assert played["ledger"]["balanced"]
    sums: Counter[str] = Counter()
    for line in played["ledger"]["lines"]:
        sums[line["asset"]] += int(line["balance"])
    assert set(sums.values()) == {0}, sums
    totals, made = played["totals"], played["made"]
    paid = sum(int(made[f"paid {name}"]) for name in ("run", "review", "patch"))
    assert paid > 0
    assert int(totals["a buyer"]["SAT"]) == Asset.SAT.parse(str(FUNDED["a buyer"]["SAT"])) - paid
    assert totals["a writer"]["USDC"] == made["citation amount"]
    assert int(totals["a reader"]["CHIP"]) < Asset.CHIP.parse(str(FUNDED["a reader"]["CHIP"]))


def _check_that_it_is_only_started(node: NodeUnderTest, played: Any) -> None:
    """A home that has the story: nothing is played twice, and the node says the same until somebody ends it."""
    command = [*CHOIR, "demo"]
    process = subprocess.Popen(
        command, env=node.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = ""
    while "The node stays up" not in said and (line := process.stdout.readline()):
        said += line
    try:
        assert "has the story already; its node is started" in said
        assert "Work is ordered" not in said
        assert [link for link in played["links"].values() if link not in said] == []
        _check_the_node(node, played["made"])
        busy = demo(node, "--exit")
        assert (busy.returncode, "is being played by process" in busy.stderr) == (1, True), busy
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        process.stdout.close()
    assert process.wait(START_S_MAX) == 130
    assert (node.home / "demo" / "story.json").stat().st_mode & 0o777 == 0o600


def _check_the_node(node: NodeUnderTest, made: Any) -> None:
    secret = json.loads((node.home / "demo" / "story.json").read_text())["keys"]["a buyer"]
    with Client(node.url, auth=NostrKey(secret, public_url=public_url(node))) as buyer, node.client() as operator:
        states = {name: buyer.jobs.get(made[f"job {name}"]).state for name in ("run", "review", "patch", "cheat")}
        assert states == {"run": "paid", "review": "paid", "patch": "paid", "cheat": "cancelled"}
        [citation] = operator.citations.of_article(made[f"article {FIRST}"])
        assert (citation.id, citation.citing) == (made["citation"], made[f"article {SECOND}"])
        assert citation.state == "paid"
        assert made["citation"] in operator.entry(made["citation entry"]).content["refs"]
        found = operator.search.find("tide table").results
        assert made[f"article {SECOND}"] in [item.article for item in found]


def test_it_stays_away_from_production_and_from_other_data() -> None:
    with new_node() as other:
        refused = demo(other, "--exit", "--json", CHOIR_MODE="production")
        assert (refused.returncode, json.loads(refused.stderr)["error"]["code"]) == (4, "demo.only_in_development")
        assert not other.home.exists()
        other.up()
        with other.client() as operator:
            operator.fund("person:ada/available/SAT", 1_000)
        running = demo(other, "--exit")
        other.stop()
        stopped = demo(other, "--exit")
        for done in (running, stopped):
            assert done.returncode == 1, done
            assert f"choir: {other.home} has data of its own" in done.stderr
            assert "choir demo --here" in done.stderr
        assert not (other.home / "demo" / "story.json").exists()


@pytest.mark.deep
def test_without_a_sandbox_the_rest_is_played() -> None:
    with new_node() as poor:
        done = demo(poor, "--exit", "--json", **NO_SANDBOX)
        assert done.returncode == 0, done.stderr
        assert "No work is played, because this machine cannot verify any." in done.stderr
        found = json.loads(done.stdout)
        assert (found["worked"], found["ledger"]["balanced"]) == (False, True)
        assert found["made"]["vested"] == found["made"]["citation amount"]


@pytest.mark.deep
@pytest.mark.parametrize("line", ["adds a source", "published: ", "' is ready; ", "the money is held", "is promoted"])
def test_killed_in_the_middle_it_goes_on(line: str) -> None:
    with new_node() as cut:
        said = cut.temporary / "said"
        with said.open("w") as out:
            process = subprocess.Popen(
                [*CHOIR, "demo", "--exit"], env=cut.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        until(lambda: line in said.read_text() or process.poll() is not None, START_S_MAX)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        done = demo(cut, "--exit", "--json")
        assert done.returncode == 0, done.stderr
        assert "The story was cut off before; it goes on." in done.stderr
        found = json.loads(done.stdout)
        _check_books(found)
        assert found["made"]["refused"]["code"] == "patch.deciding_test_changed"
        assert cut.run("down").code == 0  # it ran on when its parent was killed


def test_ctrl_c_stops_what_was_started() -> None:
    with new_node() as short:
        process = subprocess.Popen(
            [*CHOIR, "demo"], env=short.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            if "started at" in line:
                break
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        assert process.wait(START_S_MAX) == 130


def test_all_words_of_the_evidence_stand_in_their_source_once() -> None:
    for name in (FIRST, SECOND):
        for source, words in files.quotes_of(files.article(name)):
            text = files.article(source) if source == FIRST else files.source(source).decode()
            assert text.count(words) == 1, (name, words)
            assert len(words.split()) < 25


def test_an_article_gets_its_pointers() -> None:
    text = 'One [claim]{#a}.\n\na supports @tides "High water." confidence=0.9\nb supports @other "None."\n'
    bound = files.bound(text, {("tides", "High water."): "sha256:00@1-2"})
    assert bound == "One [claim]{#a}.\n\na supports sha256:00@1-2 confidence=0.9\n"


def test_a_step_is_done_once(tmp_path: Path) -> None:
    record, calls = Record(tmp_path), iter("ab")
    assert not record.begun
    assert [record.once("step", lambda: next(calls)) for _ in range(2)] == ["a", "a"]
    again = Record(tmp_path)
    assert (again.begun, again.made, again.outcome) == (True, {"step": "a"}, None)
    assert (again.id_of("step"), again.key("x")) == (record.id_of("step"), Record(tmp_path).key("x"))
    again.finish({"done": 1})
    assert Record(tmp_path).outcome == {"done": 1}
    for wrong in ("", "[]", '{"version": 2}'):
        (tmp_path / "demo" / "story.json").write_text(wrong)
        with pytest.raises(BadRecord):
            Record(tmp_path)
