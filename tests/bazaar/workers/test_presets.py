"""Presets with stand-ins: a program of the agent's name, where the real one would be, that tells what it was given.

The real agents are in `tests.doors.provider.test_real_agents`. What can be shown without them is that the task and the
repository arrive, that nothing else of the provider's does, and that the diff is ours.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.workers import presets, profiles
from choir.bazaar.workers.agents import CommandWorker
from choir.bazaar.workers.presets import PLACEHOLDER_KEY, preset
from choir.bazaar.workers.shop import Workshop
from choir.foundation.canonical import bytes_hash
from choir.sandbox.model import Mount
from tests.bazaar.verification.scene import FIXED, Repository
from tests.bazaar.workers.scene import JOB, done_by, patch_order
from tests.bazaar.workers.test_agents import applied, changed

KEY = "sk-the-providers-own-0123456789"
PROGRAMS = {"claude-code": "claude", "mini-swe-agent": "mini", "aider": "aider", "openhands": "openhands"}
# What every program in the sandbox has, and what the proxy needs.
OF_THE_SANDBOX = {"HOME", "USER", "TMPDIR", "PATH", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
OF_THE_PROXY = {name for word in ("http", "https", "no", "all") for name in (f"{word}_proxy", f"{word.upper()}_PROXY")}
OF_THE_WORKER = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}

STAND_IN = """#!/usr/bin/python3
import json, os, pathlib, subprocess, sys

task = pathlib.Path("/work/task.md").read_text()
calc = pathlib.Path("calc.py")
record = {
    "argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "task": task, "before": calc.read_text(),
    "commits": subprocess.check_output(["git", "log", "--format=%s"], text=True).split(),
    "lies": sorted(os.listdir("/usr/local/bin")),
}
pathlib.Path("record.json").write_text(json.dumps(record))
calc.write_text(calc.read_text().replace("a - b", "a + b"))
pathlib.Path(".aider.chat.history.md").write_text("litter")
subprocess.run(["git", "commit", "-qam", "what an agent commits counts for nothing"], check=True)
print("done", flush=True)
sys.exit(3)
"""


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands in /usr/local/bin of the sandbox."""
    folder = tmp_path_factory.mktemp("bin")
    for name in PROGRAMS.values():
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    folder.chmod(0o755)
    return folder


def test_every_preset_has_a_stand_in() -> None:
    assert set(PROGRAMS) == set(presets.ARGUMENTS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_preset_gets_task_and_repository_and_nothing_else(
    name: str, shop: Workshop, repository: Repository, bin_: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "A_SECRET_OF_THE_PROVIDER"):
        monkeypatch.setenv(variable, KEY)
    made = preset(name, KEY, "model-1", mounts=(Mount(bin_, "/usr/local/bin"),))
    worker = CommandWorker(shop, replace(made, self_check=False))
    order = patch_order(repository)
    outcome = done_by(worker, order)
    assert outcome.error is None
    assert outcome.claimed == bytes_hash(outcome.artifact)

    assert set(changed(outcome.artifact)) == {"calc.py", "record.json"}
    after = applied(repository, outcome.artifact, tmp_path)
    assert (after / "calc.py").read_text() == FIXED  # though it ended with code 3 and committed

    record: dict[str, Any] = json.loads((after / "record.json").read_text())
    task = profiles.task(order.request)
    call = profiles.call(made, JOB, order.request, {})
    assert record["argv"] == [f"/usr/local/bin/{PROGRAMS[name]}", *call.argv[1:]]
    assert task in record["argv"] or "/work/task.md" in record["argv"]
    assert record["task"] == task
    assert order.request.test_command in record["task"]  # type: ignore[union-attr]
    assert (record["cwd"], record["commits"]) == ("/work/repository", ["base"])
    assert "a - b" in record["before"]
    assert record["lies"] == sorted(PROGRAMS.values())

    seen = record["env"]
    named = {variable for variable, _ in made.environment} | {"PYTHONPATH"}
    ours = {variable for variable in seen if variable.startswith("CHOIR_")}
    assert set(seen) - named - ours <= OF_THE_SANDBOX | OF_THE_PROXY | OF_THE_WORKER
    assert ours == {variable for variable in call.environment if variable.startswith("CHOIR_")}
    assert {variable: seen[variable] for variable in call.environment} == dict(call.environment)
    assert seen["ANTHROPIC_API_KEY"] == PLACEHOLDER_KEY
    assert KEY not in json.dumps(record)
    assert KEY.encode() not in outcome.trajectory
