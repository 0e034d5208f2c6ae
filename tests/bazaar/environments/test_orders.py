"""Orders with an environment, from the verifier's and the worker's side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from choir.bazaar.contracts import Environment, PatchGenRequest
from choir.bazaar.contracts.patches import Evidence
from choir.bazaar.environments import claims
from choir.bazaar.environments.model import NoEnvironments, SetupFailed
from choir.bazaar.environments.service import Environments
from choir.bazaar.jobs.model import Verdict
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.service import Verifier
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import Repository

SITE = "/opt/env/venv/lib/python3.11/site-packages"
FILES = {
    "requirements.txt": "dep==1.0\n",
    "src/calc/__init__.py": "from dep import base\n\n\ndef add(a, b):\n    return a - b + base\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
    "def test_more():\n    assert add(2, 2) == 4\n",
}
FIXED = FILES["src/calc/__init__.py"].replace("a - b", "a + b")
# What `pip install` leaves, without a registry; no Python is prepared for it, so that it is quick.
INSTALL = f"true go; s=$(echo {SITE}); mkdir -p $s; echo 'base = 0' > $s/dep.py"
INSTALL = INSTALL.replace("python3.11", "pytho''n3.11")
COMMAND = "pytest -q tests"


@dataclass(frozen=True)
class Scene:
    repository: Repository
    verifier: Verifier
    environments: Environments
    scratch: Path

    def verify(self, edits: dict[str, str | bytes | None], environment: Environment, **changes: object) -> Verdict:
        name = str(len(list(self.scratch.iterdir())))
        (self.scratch / name).mkdir()
        diff = self.repository.diff(edits, self.scratch / name)
        wanted: dict[str, object] = {"environment": environment, "test_command": COMMAND} | changes
        order = self.repository.order(None, **wanted)
        return self.verifier.verify(order, self.repository.delivery(diff))


@pytest.fixture(scope="module")
def scene(
    sandboxes: Sandboxes, environments: Environments, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("orders")
    (folder / "scratch").mkdir()
    with Verifier(sandboxes, VerificationPolicy(), folder, environments=environments) as verifier:
        yield Scene(Repository.make(folder / "made", FILES), verifier, environments, folder / "scratch")


PLAIN = Environment(INSTALL, ("requirements.txt",))


def test_the_honest_fix_passes_and_a_wrong_one_fails_on_the_layer(scene: Scene) -> None:
    good = scene.verify({"src/calc/__init__.py": FIXED}, PLAIN)
    assert good.passed, good.checks
    bad = scene.verify({"src/calc/__init__.py": FIXED.replace("a + b", "a * b")}, PLAIN)
    assert not bad.passed
    assert bad.reason == "tests.failed"
    layer = claims.evidence_of(good.evidence)
    assert layer is not None
    assert layer["layer"] == scene.environments.name_of(PLAIN, scene.repository.folder)[0]
    assert layer == claims.evidence_of(bad.evidence)


def test_without_its_environment_nothing_passes(scene: Scene, sandboxes: Sandboxes, tmp_path: Path) -> None:
    diff = scene.repository.diff({"src/calc/__init__.py": FIXED}, tmp_path)
    bare = scene.repository.order(test_command=COMMAND)
    assert not scene.verifier.verify(bare, scene.repository.delivery(diff)).passed
    with Verifier(sandboxes, folder=tmp_path) as lone, pytest.raises(NoEnvironments):
        lone.verify(scene.repository.order(environment=PLAIN), scene.repository.delivery(diff))


def test_an_order_whose_set_up_fails_is_found_out_before_it_is_offered(scene: Scene) -> None:
    broken = scene.repository.order(environment=Environment("true go; exit 7"), test_command=COMMAND)
    with pytest.raises(SetupFailed) as error:
        scene.verifier.examine(broken)
    assert error.value.code == "order.setup_failed"
    assert scene.verifier.examine(scene.repository.order(environment=PLAIN, test_command=COMMAND)).passed


@pytest.mark.parametrize(
    "evil",
    [
        "for m in pytest _pytest; do mkdir $s/$m; echo 'import os; os._exit(0)' > $s/$m/__init__.py; done",
        "echo 'import os; os._exit(0)' | tee $s/sitecustomize.py > $s/usercustomize.py",
        "echo 'import os; os._exit(0)' > $s/a.pth",
        "for m in pluggy iniconfig packaging digests late json hmac; do echo 'import os; os._exit(0)' > $s/$m.py; done",
        "echo 'def paths_of(*a): import os; os._exit(0)' > $s/late.py",
        "cd /opt/env/bin; for p in python3 sh; do printf '#!/bin/sh\\nexit 0\\n' > $p; chmod +x $p; done",
        "printf 'import os; os._exit(0)' > conftest.py; cp conftest.py sitecustomize.py; cp conftest.py pytest.py",
    ],
    ids=["pytest", "sitecustomize", "pth", "modules", "reporter", "programs", "tree"],
)
def test_files_of_a_layer_that_shadow_the_runner_change_nothing(scene: Scene, evil: str) -> None:
    shadowed = Environment(f"{INSTALL}; {evil}", ("requirements.txt",))
    assert scene.verify({"src/calc/__init__.py": FIXED}, shadowed).passed
    wrong = scene.verify({"src/calc/__init__.py": FIXED.replace("a + b", "a * b")}, shadowed)
    assert wrong.reason == "tests.failed"


def test_an_editable_install_is_followed_by_its_path(scene: Scene) -> None:
    linked = Environment(f"{INSTALL}; echo /work/tree/src > $s/__editable__.calc.pth", ("requirements.txt",))
    assert scene.verify({"src/calc/__init__.py": FIXED}, linked).passed


def test_the_build_runs_after_the_patch_and_its_files_are_there_for_the_tests(scene: Scene) -> None:
    build = "mkdir -p build && sed 's/PLACE/built/' src/calc/__init__.py > build/made.py && ls /opt/env > build/seen"
    wanted = Environment(INSTALL, ("requirements.txt",), (), build)
    check = "grep -q 'a + b' build/made.py && grep -q venv build/seen"
    good = scene.verify({"src/calc/__init__.py": FIXED}, wanted, verification_commands=(check,))
    assert good.passed, good.checks
    assert "build" in [item.name for item in good.checks]
    failing = Environment(INSTALL, ("requirements.txt",), (), "grep -q 'a - b' src/calc/__init__.py")
    bad = scene.verify({"src/calc/__init__.py": FIXED}, failing)
    assert bad.reason == "build.failed"


def test_a_build_cannot_change_or_add_what_decides(scene: Scene) -> None:
    evil = "echo 'def test_add(): pass' > tests/test_calc.py; echo 'import os; os._exit(0)' > conftest.py;"
    evil += " cp conftest.py sitecustomize.py; cp conftest.py tests/conftest.py; echo x > requirements.txt"
    wanted = Environment(INSTALL, ("requirements.txt",), (), evil)
    assert scene.verify({"src/calc/__init__.py": FIXED}, wanted).passed
    wrong = scene.verify({"src/calc/__init__.py": FIXED.replace("a + b", "a * b")}, wanted)
    assert wrong.reason == "tests.failed"


def test_a_build_has_no_network_and_cannot_write_into_the_layer(scene: Scene) -> None:
    write = Environment(INSTALL, ("requirements.txt",), (), "echo x > /opt/env/x")
    assert scene.verify({"src/calc/__init__.py": FIXED}, write).reason == "build.failed"
    reach = "/usr/bin/python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"
    network = Environment(INSTALL, ("requirements.txt",), (), reach)
    assert scene.verify({"src/calc/__init__.py": FIXED}, network).reason == "build.failed"


def test_any_command_finds_the_layer_on_its_path(scene: Scene) -> None:
    tool = "; t=/opt/env/bin/check; printf '#!/bin/sh\\ngrep -q \"a + b\" src/calc/__init__.py\\n' > $t; chmod +x $t"
    wanted = Environment(INSTALL + tool, ("requirements.txt",))
    changes = {"test_command": "check", "evidence": Evidence.EXIT_CODE}
    assert scene.verify({"src/calc/__init__.py": FIXED}, wanted, **changes).passed
    assert scene.verify({"src/calc/__init__.py": "x = 1\n"}, wanted, **changes).reason == "tests.failed"


def test_two_orders_on_one_commit_with_other_environments_do_not_share_results(scene: Scene) -> None:
    other = Environment(INSTALL.replace("base = 0", "base = 5"), ("requirements.txt",))
    assert scene.verify({"src/calc/__init__.py": FIXED}, PLAIN).passed
    assert scene.verify({"src/calc/__init__.py": FIXED}, other).reason == "tests.failed"


def test_an_order_without_an_environment_has_the_bytes_it_always_had(scene: Scene) -> None:
    policy = VerificationPolicy()
    plain = scene.repository.request()
    assert "environment" not in plain.to_json()
    full = scene.repository.request(environment=Environment("make deps", (), ("pypi.org",), "make"))
    assert PatchGenRequest.from_bytes(full.to_bytes(), policy) == full
    assert PatchGenRequest.from_bytes(plain.to_bytes(), policy) == plain


def test_provider_and_verifier_are_compared_by_what_they_name() -> None:
    ours = {"layer": "sha256:1", "content": "sha256:2"}
    assert "same layer" in claims.compare(ours, [claims.told(ours)])
    assert "other contents" in claims.compare(ours, [claims.told(ours | {"content": "sha256:3"})])
    assert "another layer" in claims.compare(ours, [claims.told({"layer": "sha256:9", "content": "sha256:3"})])
    assert "no layer" in claims.compare(ours, [])
