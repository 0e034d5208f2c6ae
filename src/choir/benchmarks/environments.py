"""Environments against doing the same bare: a cold set-up, a run on a warm layer, a second job on the same files.

Bare is the same command on this machine, without a sandbox and without a layer. The set-up makes a Python environment
and writes modules as an installer does, without a registry, so that no network is measured.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from choir.bazaar.contracts import Environment
from choir.bazaar.environments.service import Environments
from choir.sandbox.model import Limits, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.rules import for_play
from choir.sandbox.service import Sandboxes

_MODULES = 1_500
_MODULE = "VALUE = {n}\n\n\ndef number():\n    return VALUE\n"
_WRITE = (
    "import pathlib, sys\nsite = pathlib.Path(sys.argv[1]) / 'many'\nsite.mkdir()\n"
    f"for n in range({_MODULES}):\n    (site / f'm{{n}}.py').write_text({_MODULE!r}.replace('{{n}}', str(n)))\n"
)
# What tests are like: modules are imported, and something is computed for a second or two.
_TEST = (
    "import importlib\n"
    f"total = sum(importlib.import_module(f'many.m{{n}}').number() for n in range({_MODULES}))\n"
    "for _ in range(12):\n    total += sum(i * i % 7 for i in range(600_000))\nprint(total)\n"
)
_SITE = "lib/python3*/site-packages"


def run(rounds: int, folder: Path | None, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure; every number is the median of so many rounds, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as name:
        home = Path(name)
        tree = home / "tree"
        tree.mkdir()
        (tree / "write.py").write_text(_WRITE)
        (tree / "test.py").write_text(_TEST)
        with Sandboxes(home / "sandbox", for_play(SandboxPolicy())) as sandboxes:
            return _measured(Environments(sandboxes, home), sandboxes, tree, home, rounds, say)


def _measured(
    environments: Environments, sandboxes: Sandboxes, tree: Path, home: Path, rounds: int, say: Callable[[str], None]
) -> dict[str, Any]:
    setup = Environment(f'python write.py "$(echo $VIRTUAL_ENV/{_SITE})"', ("write.py",))
    name = environments.name_of(setup, tree)[0]
    say("setting up, bare and in a sandbox")
    bare_setup, cold = [], []
    for _ in range(rounds):
        bare_setup.append(_timed(lambda: _bare_setup(tree, home / "bare")))
        environments.shelf.remove(name)
        cold.append(_timed(lambda: _use(environments, setup, tree)))
    second = [_timed(lambda: _use(environments, setup, tree)) for _ in range(rounds)]
    say("running on the layer, and bare")
    bare_run, warm = [], []
    with environments.use(setup, tree) as layer:
        spec = Spec(("sh", "-c", "cd tree && python test.py"), folder=tree, folder_at="tree", limits=Limits(cpu_s=600))
        for _ in range(rounds):
            bare_run.append(_timed(lambda: _bare("python", "test.py", tree=tree, place=home / "bare")))
            warm.append(_timed(lambda: _must(sandboxes.run(layer.over(spec, tree)).ok)))
        assert layer.kept is not None
        facts = {"layer_files": layer.kept.files, "layer_bytes": layer.kept.bytes}
    found = {"bare_setup_ms": bare_setup, "cold_setup_ms": cold, "second_job_ms": second}
    found |= {"bare_run_ms": bare_run, "warm_run_ms": warm}
    numbers = {key: round(statistics.median(values), 1) for key, values in found.items()}
    ratios = {
        "warm_run_of_bare": round(numbers["warm_run_ms"] / numbers["bare_run_ms"], 2),
        "cold_setup_of_bare": round(numbers["cold_setup_ms"] / numbers["bare_setup_ms"], 2),
        "second_job_of_first": round(numbers["second_job_ms"] / numbers["cold_setup_ms"], 4),
    }
    return {"rounds": rounds, "ratios": ratios} | numbers | facts


def _use(environments: Environments, setup: Environment, tree: Path) -> None:
    with environments.use(setup, tree):
        return


def _bare_setup(tree: Path, place: Path) -> None:
    """As somebody does it by hand; an installer compiles what it installs."""
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(place)], check=True, capture_output=True)
    site = next(place.glob(_SITE))
    _bare("python", "write.py", str(site), tree=tree, place=place)
    _bare("python", "-m", "compileall", "-q", str(site / "many"), tree=tree, place=place)


def _bare(program: str, *words: str, tree: Path, place: Path) -> None:
    environment = {"PATH": f"{place}/bin:{os.defpath}", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([str(place / "bin" / program), *words], cwd=tree, env=environment, check=True, capture_output=True)


def _must(condition: bool) -> None:
    assert condition, "the run on the layer failed"


def _timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return (time.monotonic() - began) * 1000
