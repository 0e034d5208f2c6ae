"""The run worker and the fix worker, in the real sandbox."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from choir.bazaar.contracts import RunOutput, SandboxRunRequest, SandboxRunResult
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.workers.fix_worker import FixWorker, fixable
from choir.bazaar.workers.model import Stopped, TimeUp
from choir.bazaar.workers.run_worker import RunWorker
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import TERMS, Repository
from tests.bazaar.workers.scene import done_by, order_of, patch_order

RUN = SandboxRunRequest(("python3", "-c", "print(6*7)"), TERMS, cpu_s_max=20, deterministic=True)
TIDY = '''"""The code has no unused import."""

import ast
from pathlib import Path


def test_tidy():
    tree = ast.parse(Path("app.py").read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names == {"json"}
'''


def test_a_command_is_run_and_verifies(shop: Workshop) -> None:
    outcome = done_by(RunWorker(shop), order_of(JobType.SANDBOX_RUN, RUN))
    assert outcome.error is None
    assert RunOutput.from_bytes(outcome.artifact, shop.verification) == RunOutput(0, b"42\n")
    assert isinstance(outcome.result, SandboxRunResult)
    assert outcome.result.cpu_milli > 0
    assert outcome.claimed is not None
    delivery = Delivery(outcome.artifact, outcome.claimed, outcome.result)
    assert shop.verifier.verify(Order(JobType.SANDBOX_RUN, RUN), delivery, rerun=True).passed


def test_what_the_command_gets_and_gives(shop: Workshop) -> None:
    script = "cat; echo $GREETING; echo oh >&2; exit 3"
    request = replace(RUN, argv=("sh", "-c", script), stdin="in\n", environment=(("GREETING", "hello"),))
    outcome = done_by(RunWorker(shop), order_of(JobType.SANDBOX_RUN, request))
    assert RunOutput.from_bytes(outcome.artifact, shop.verification) == RunOutput(3, b"in\nhello\n", b"oh\n")


def test_limits_time_and_cancelling(shop: Workshop, sandboxes: Sandboxes, tmp_path: Path) -> None:
    slow = order_of(JobType.SANDBOX_RUN, replace(RUN, argv=("sleep", "60")), seconds=1)
    assert isinstance(done_by(RunWorker(shop), slow).error, TimeUp)
    busy = replace(RUN, argv=("python3", "-c", "while True: pass"), cpu_s_max=1)
    assert isinstance(done_by(RunWorker(shop), order_of(JobType.SANDBOX_RUN, busy)).error, TimeUp)
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    held = order_of(JobType.SANDBOX_RUN, replace(RUN, argv=("sleep", "60")))
    assert isinstance(done_by(RunWorker(shop), held, stop.is_set).error, Stopped)
    small = VerificationPolicy(run_output_bytes_max=1_000)
    with Workshop(sandboxes, tmp_path, shop.policy, small, sandboxes.policy) as narrow:
        loud = replace(RUN, argv=("head", "-c", "5000", "/dev/zero"))
        assert "more than" in str(done_by(RunWorker(narrow), order_of(JobType.SANDBOX_RUN, loud)).error)
    late = order_of(JobType.SANDBOX_RUN, RUN, seconds=-1)
    assert isinstance(done_by(RunWorker(shop), late).error, TimeUp)
    gone = order_of(JobType.SANDBOX_RUN, replace(RUN, argv=("no-such-program",)))
    outcome = done_by(RunWorker(shop), gone)
    assert RunOutput.from_bytes(outcome.artifact, shop.verification).exit_code == 127


def test_unused_imports_are_taken_out(shop: Workshop, tmp_path: Path) -> None:
    files = {
        "app.py": "import json\nimport os\n\nx = json.dumps( 1 )\n",
        "secret.py": "import os\n",
        "test_tidy.py": TIDY,
        "tests/helper.py": "import os\n",
    }
    buyer = Repository.make(tmp_path, files)
    order = patch_order(buyer, test_command="python3 -m pytest -q", disallowed_paths=("secret.py",))
    outcome = done_by(FixWorker(shop), order)
    assert outcome.error is None, outcome.error
    assert b"-import os\n" in outcome.artifact
    assert outcome.artifact.count(b"diff --git") == 1
    assert b"-x = json" not in outcome.artifact  # the layout is as it was
    assert b"t:Verify id=call_3 python3 -m pytest -q \xe2\x86\x92 [passed]" in outcome.trajectory


def test_what_fixers_cannot_fix_is_given_back(shop: Workshop, repository: Repository) -> None:
    outcome = done_by(FixWorker(shop), patch_order(repository))
    assert outcome.error is not None
    assert outcome.error.code == "worker.not_done"
    assert outcome.artifact == b""


def test_only_allowed_files_are_fixed(tmp_path: Path) -> None:
    names = ["a.py", "b/c.py", "b/test_c.py", "tests/x.py", "conftest.py", "b/secrets.py", "b/deep/d.pyi", "e.txt"]
    buyer = Repository.make(tmp_path, dict.fromkeys(names, "x = 1\n"))
    assert fixable(buyer.folder, buyer.request()) == ["a.py", "b/c.py", "b/deep/d.pyi"]
    assert fixable(buyer.folder, buyer.request(subdir="b", deciding_paths=("b/c.py",))) == ["b/deep/d.pyi"]
    assert fixable(buyer.folder, buyer.request(allowed_paths=("*.py",))) == ["a.py"]
