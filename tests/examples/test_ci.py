"""The CI action, run step by step as GitHub would, against a real node: a patch, a review, annotations, no secret.

GitHub itself cannot be had. `Runner` reads action.yml, fills its expressions, gives each step GitHub's files and
variables, and runs it with bash; that is what `act` does too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.doors.mesh.processes import serving
from tests.doors.mesh.test_bundles import commit, git
from tests.doors.townsfolk import neighbour, public_node
from tests.operations.nodes import NodeUnderTest

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples/ci"
CALCULATOR = ROOT / "examples/broken-calculator"
FIXER = ROOT / "examples/workers/simple_fixer.py"
_EXPRESSION = re.compile(r"\$\{\{\s*([a-z0-9_.-]+)\s*\}\}")


@dataclass
class Runner:
    """Runs a composite action in a checkout."""

    folder: Path
    checkout: Path
    environment: dict[str, str]
    action: dict[str, Any] = field(default_factory=lambda: yaml.safe_load((CI / "action.yml").read_text()))
    log: str = ""
    code: int = 0

    def run(self, **given: str) -> dict[str, str]:
        """The action's outputs."""
        inputs = {name: str(item.get("default", "")) for name, item in self.action["inputs"].items()} | given
        assert all(inputs[name] for name, item in self.action["inputs"].items() if item.get("required"))
        known = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(CI)}
        for step in self.action["runs"]["steps"]:
            if self.code == 0:
                known |= self._step(step, known)
        return {name: self._fill(item["value"], known) for name, item in self.action["outputs"].items()}

    def _step(self, step: dict[str, Any], known: dict[str, str]) -> dict[str, str]:
        self.folder.mkdir(exist_ok=True)
        files = {name: self.folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV")}
        files["GITHUB_OUTPUT"].write_text("")
        own = {name: self._fill(value, known) for name, value in step.get("env", {}).items()}
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.checkout,
            env=self.environment
            | {"GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(self.folder)}
            | {name: str(path) for name, path in files.items()}
            | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += done.stdout
        self.code = done.returncode
        lines = (line.partition("=") for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return {f"steps.{step['id']}.outputs.{name}": value for name, _, value in lines}

    @staticmethod
    def _fill(text: str, known: dict[str, str]) -> str:
        return _EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


def test_no_value_can_become_a_command() -> None:
    action = yaml.safe_load((CI / "action.yml").read_text())
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
        assert "add-mask" not in step["run"]  # which would print what it masks
    assert action["runs"]["using"] == "composite"


def hostile_review() -> dict[str, Any]:
    item = {
        "severity": "high", "category": "security", "file": "a,b:c\n::error::x.py", "line_range": [3, 4],
        "description": "bad\n::set-output name=x::y\r::add-mask::z 100% @everyone <img src=x>"
        " [l](http://e.example) top-secret-token-1",
        "current": "x", "suggested_fix": "```\n::warning::fence\n```",
    }  # fmt: skip
    return {"summary": "# hi @all ::error::summary", "issues": [{**item, "severity": "low"}, item]}


def test_a_strangers_review_brings_no_command_no_mention_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / "review.json").write_text(json.dumps(hostile_review()))
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = subprocess.run(
        [sys.executable, str(CI / "report.py"), "--review", "review.json", "--patch", "none", "--comment", "c.md"],
        cwd=tmp_path, env=os.environ | files | {"MY_TOKEN": "top-secret-token-1"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    first, second = done.stdout.splitlines()  # two findings, two lines
    assert first.startswith("::error file=a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax.py,line=3,endLine=4,title=")
    assert second.startswith("::notice file=")
    assert "100%25" in first
    comment = (tmp_path / "c.md").read_text()
    assert "@" not in comment
    assert "<img" not in comment
    assert "](http" not in comment
    assert "````\n```\n::warning::fence\n```\n````" in comment
    assert all("top-secret" not in text for text in (done.stdout, done.stderr, comment))
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == "patch=\nreview=review.json\ncomment=c.md\nfindings=2\n"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text() == comment


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeUnderTest]:
    folder = tmp_path_factory.mktemp("market")
    quick = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3"}
    with public_node(**quick) as node, serving(node, folder / "provider", "review", str(FIXER)):
        yield node


@pytest.mark.slow
def test_a_failing_commit_gets_a_patch_and_a_review(market: NodeUnderTest, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    shutil.copytree(CALCULATOR, repo, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    git(repo, "init", "-q", "-b", "main")
    commit(repo)
    commit(repo, new_DOT_py="import os\n\n\ndef f(x):\n    print(os.environ)\n    return eval(x)\n")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # where pytest is
    environment = market.environment | {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"PYTEST_ADDOPTS": "-p no:cacheprovider"}
    with neighbour(market, "ada") as ada, market.client() as operator:
        operator.fund(f"{ada.owner}/available/SAT", 50_000_000)
        token = ada.token("read", "buy")
        given = {"node": market.url, "token": token, "what": "both", "source": "none", "python": sys.executable}
        given |= {"timeout": "120", "test": "env; python3 -m pytest -q"}
        weak = Runner(tmp_path / "weak", repo, environment)
        weak.run(**given)
        assert weak.code == 2, weak.log  # that is no plain pytest command, which is said before anything is ordered
        assert "it is not a plain command of a known test runner" in weak.log
        runner = Runner(tmp_path / "runner", repo, environment)
        outputs = runner.run(**given | {"test": "python3 -m pytest -q"})
        assert runner.code == 0, runner.log
        for log in (weak.log, runner.log):
            assert token not in log
        again = Runner(tmp_path / "again", repo, environment)  # a step that is run again buys nothing more
        again.run(**given | {"test": "python3 -m pytest -q"})
        assert again.code == 0, again.log
        mine = market.run("job", "ls", "--json", env={"CHOIR_TOKEN": token}).json
        assert sorted(job["type"] for job in mine) == ["code_review", "patch_gen"]
    git(repo, "apply", outputs["patch"])
    assert "return left / right" in (repo / "calculator.py").read_text()
    assert int(outputs["findings"]) >= 1
    marks = [
        line for line in runner.log.splitlines() if re.match(r"::(error|warning|notice) file=new\.py,line=\d", line)
    ]
    assert marks, runner.log
    stopped = re.search(r"^::stop-commands::([0-9a-f]{32})$", runner.log, re.MULTILINE)
    assert stopped is not None
    assert runner.log.index(f"::{stopped[1]}::") < runner.log.index(marks[0])
    comment = Path(outputs["comment"]).read_text()
    assert "### new.py" in comment
    assert "+    return left / right" in comment
    assert token not in comment + (tmp_path / "runner" / "github_step_summary").read_text()
