"""The autopilot on a real node: a branch that is verified, one order however often it is killed, and a kept budget."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.doors.mesh.processes import serving
from tests.doors.mesh.test_bundles import commit, git
from tests.doors.townsfolk import public_node
from tests.operations.nodes import CHOIR, NodeUnderTest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
CALCULATOR = ROOT / "examples/broken-calculator"
FIXER = ROOT / "examples/workers/simple_fixer.py"
TEST = "python3 -m pytest -q"
BUDGET = "30000"


@dataclass
class Field:
    """A node with a provider that reviews and fixes, and checkouts to fly on."""

    node: NodeUnderTest
    folder: Path

    def checkout(self, name: str, **files: str) -> Path:
        repo = self.folder / name
        shutil.copytree(CALCULATOR, repo, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        git(repo, "init", "-q", "-b", "main")
        commit(repo, **files, name_DOT_txt=f"{name}\n")
        return repo

    def words(self, repo: Path, *more: str) -> list[str]:
        return ["autopilot", "--repo", str(repo), "--budget", BUDGET, "--json", *more]

    def fly(self, repo: Path, *more: str) -> tuple[int, list[dict[str, Any]], str]:
        done = self.node.run(*self.words(repo, *more))
        return done.code, [json.loads(line) for line in done.out.splitlines()], done.err

    def killed_at(self, step: str, repo: Path, *more: str) -> None:
        """Kill it as soon as it has told this step."""
        process = subprocess.Popen(
            [*CHOIR, *self.words(repo, *more)], env=self.node.environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        steps = (json.loads(line)["step"] for line in process.stdout)
        assert step in steps  # up to there, and no further
        process.send_signal(signal.SIGKILL)
        process.wait(60)

    def jobs(self) -> list[dict[str, Any]]:
        done = self.node.run("job", "ls", "--json")
        return list(done.json) if done.code == 0 else []


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("field")
    quick = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3"}
    with public_node(**quick) as node, serving(node, folder / "provider", "review", str(FIXER)):
        yield Field(node, folder)


def record(repo: Path) -> Path:
    (found,) = (repo / ".git" / "choir-autopilot").glob("*.json")
    return found


def test_a_failing_test_becomes_a_branch_with_one_order_however_often_it_is_killed(field: Field) -> None:
    repo = field.checkout("killed")
    test = ("--failing-test", TEST)
    before = len(field.jobs())
    for step in ("fails", "ordered", "verified", "branch"):
        field.killed_at(step, repo, *test)
        if step == "ordered":  # as if it had been killed between sending the order and writing down its answer
            kept = json.loads(record(repo).read_text())
            assert kept["orders"][0]["job"]
            kept["orders"][0] |= {"job": "", "state": "intended"}
            record(repo).write_text(json.dumps(kept))
    code, steps, err = field.fly(repo, *test)
    assert code == 0, (steps, err)
    assert len(field.jobs()) == before + 1
    done = steps[-1]
    (order,) = json.loads(record(repo).read_text())["orders"]
    assert (done["step"], done["outcome"], done["spent"]) == ("done", "branch", str(order["cost"]))
    assert order["state"] == "passed"
    assert git(repo, "show", f"{done['branch']}:calculator.py").count("left / right") == 1
    # nothing else of the repository was touched, and the commit says who vouches for it
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    assert "left // right" in (repo / "calculator.py").read_text()
    assert order["receipt"] in git(repo, "log", "-1", "--format=%B", done["branch"])
    assert done["commit"] == git(repo, "rev-parse", done["branch"]).strip()

    plain = field.node.run(*(word for word in field.words(repo, *test) if word != "--json"))
    assert (plain.code, plain.out) == (0, f"{done['branch']}\n"), plain
    assert "Going on: 1 order so far" in plain.err
    assert f"0:00  {order['job']} is paid" in plain.err
    git(repo, "merge", "-q", done["branch"])
    code, steps, err = field.fly(repo, *test)
    assert (code, steps[-1]["outcome"], steps[-1]["branch"]) == (0, "passes_already", ""), err
    assert len(field.jobs()) == before + 1


def test_an_issue_is_reviewed_too_within_the_budget(field: Field) -> None:
    repo = field.checkout("issue")
    issue = field.folder / "issue.md"
    issue.write_text("# Division loses the fraction\n\n7 divided by 2 is 3.5, and `divide` says 3.\n")
    code, steps, err = field.fly(repo, "--issue", str(issue))
    assert code == 0, (steps, err)
    told = [item["step"] for item in steps]
    assert told == ["ordered", "verified", "branch", "ordered", "verified", "reviewed", "done"]
    orders = json.loads(record(repo).read_text())["orders"]
    assert [order["kind"] for order in orders] == ["patch", "review"]
    assert sum(order["cost"] for order in orders) == int(steps[-1]["spent"]) <= int(BUDGET) * 1000
    assert git(repo, "log", "-1", "--format=%s", steps[-1]["branch"]).strip() == "Division loses the fraction"


def test_it_stops_where_nothing_verifies_and_where_the_money_ends(field: Field) -> None:
    repo = field.checkout(
        "hopeless", test_more_DOT_py="def test_more():\n    assert __import__('calculator').answer == 42\n"
    )
    hopeless = ("--failing-test", "python3 -m pytest -q test_more.py", "--patience", "8")
    done = field.node.run(*field.words(repo, *hopeless, "--orders", "1"))
    assert done.code == 1, done
    assert json.loads(done.err.splitlines()[-1])["error"]["code"] == "autopilot.nothing_verified"
    assert "No delivery passed in 1 order; it cost 0.000 SAT." in done.err
    again = field.node.run(*field.words(repo, *hopeless, "--orders", "1"))
    assert again.code == 1  # and nothing more is ordered
    assert len(json.loads(record(repo).read_text())["orders"]) == 1

    poor = field.node.run("autopilot", "--repo", str(repo), *hopeless, "--budget", "10")
    assert poor.code == 1
    assert "The budget is used up: 10.000 SAT of 10.000 SAT are left, and a patch needs" in poor.err
    for words in (("--budget", "10"), ("--budget", "0", "--issue", "x")):
        assert field.node.run("autopilot", "--repo", str(repo), *words).code == 2
    (repo / "calculator.py").write_text("# changed\n")
    dirty = field.node.run("autopilot", "--repo", str(repo), *hopeless, "--budget", "9000")
    assert "uncommitted changes: calculator.py" in dirty.err
