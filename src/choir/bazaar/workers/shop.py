"""The workshop: what all workers of a provider's process share.

The sandbox they run in, the policies, a folder of their own, and two sets of tools that are lent to sandboxes
read-only: pytest for the buyer's tests, and the analysers. Tools are copied out of the installed packages once, so
that no sandbox sees anything else of the provider's machine.

Guarantees: analysers run isolated (`python3 -I`), so that no file of the order can stand in for one of their modules.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from choir.bazaar.environments.service import Environments
from choir.bazaar.policy import EnvironmentsPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.verification import indexing, toolchain
from choir.bazaar.verification.indexing import Embedder
from choir.bazaar.verification.service import Verifier
from choir.bazaar.workers.model import IsCancelled, Stopped, TimeUp, WorkOrder
from choir.foundation.clock import Clock, SystemClock
from choir.foundation.errors import Unavailable
from choir.sandbox.model import EndReason, Mount, Result, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.pool import Runner
from choir.sandbox.pump import OnOutput

TOOLS = "/opt/choir-tools"
PYTEST_PATH = f"{toolchain.TARGET}/site"
PYTHON = "/usr/bin/python3"
_ANALYSERS = (
    "bandit",
    "stevedore",
    "PyYAML",
    "rich",
    "markdown-it-py",
    "mdurl",
    "Pygments",
    "vulture",
    "detect-secrets",
    "requests",
    "charset-normalizer",
    "idna",
    "urllib3",
    "certifi",
)
_COMPILE_S_MAX = 120


class NoTool(Unavailable):
    """The provider's installation lacks an analyser."""

    code = "worker.no_tool"
    sentence = "The tool {tool} is not installed."
    hint = "Install the provider with all its dependencies: `make setup`."


class Workshop:
    """One per process; safe to use from many threads."""

    def __init__(
        self,
        runner: Runner,
        folder: Path,
        workers: WorkersPolicy | None = None,
        verification: VerificationPolicy | None = None,
        sandbox: SandboxPolicy | None = None,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        environments: Path | None = None,
        layers: EnvironmentsPolicy | None = None,
    ) -> None:
        self.runner = runner
        self.policy = workers or WorkersPolicy()
        self.verification = verification or VerificationPolicy()
        self.sandbox = sandbox or SandboxPolicy()
        self.clock = clock or SystemClock()
        self.embedder = embedder  # a model for embeddings, if there is one
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="shop-", dir=folder))
        self.environments = Environments(runner, environments or folder, layers, self.clock)
        self.verifier = Verifier(runner, self.verification, self.folder, environments=self.environments)
        self._lock = threading.Lock()
        self._built: dict[str, Mount] = {}

    def close(self) -> None:
        """Remove what was kept."""
        self.verifier.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Workshop:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for one job."""
        return tempfile.TemporaryDirectory(prefix="job-", dir=self.folder, ignore_cleanup_errors=True)

    def wall_s(self, order: WorkOrder, most: float, what: str) -> float:
        """How long the next run may take, so that there is time left to hand in."""
        left = min(order.left_s - self.policy.hand_in_s, most, self.sandbox.wall_s_max)
        if left <= 0:
            raise TimeUp(what=what)
        return left

    def run(self, spec: Spec, cancelled: IsCancelled, what: str, on_output: OnOutput | None = None) -> Result:
        """Run a spec to its own end; a run that had to be stopped is a refusal."""
        result = self.runner.run(spec, on_output, cancelled)
        if result.ended is EndReason.CANCELLED:
            raise Stopped
        if result.timed_out:
            raise TimeUp(what=what)
        return result

    def pytest(self) -> Mount:
        """The test runner that buyers' tests are verified with."""
        return self._once("pytest", toolchain.build)

    def analysers(self) -> Mount:
        """ruff, bandit and the others."""
        return self._once("analysers", build_analysers)

    def indexer(self) -> Mount:
        """tree-sitter with its grammars."""
        return self._once("indexer", indexing.build)

    @staticmethod
    @cache
    def lacking() -> str:
        """Which analyser is not installed, as a sentence; nothing if all are. Quick, unlike lending them."""
        try:
            _ruff()
            for name in _ANALYSERS:
                _distribution(name)
        except NoTool as error:
            return str(error)
        return ""

    def _once(self, name: str, build: Callable[[Path], Mount]) -> Mount:
        with self._lock:
            if name not in self._built:
                self._built[name] = build(self.folder / "tools" / name)
            return self._built[name]


def build_analysers(folder: Path) -> Mount:
    """Copy the analysers below `folder`: modules, their metadata for plugins, and ruff's program."""
    site = folder / "site"
    site.mkdir(parents=True)
    for name in _ANALYSERS:
        _copy_distribution(name, site)
    (folder / "bin").mkdir()
    shutil.copy(_ruff(), folder / "bin" / "ruff")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    compile_ = [PYTHON, "-I", "-m", "compileall", "-q", str(site)]  # the sandbox cannot write beside the modules
    subprocess.run(compile_, env={}, capture_output=True, timeout=_COMPILE_S_MAX, check=False)
    return Mount(folder, TOOLS)


def _copy_distribution(name: str, site: Path) -> None:
    """Pure Python only: what is compiled fits the provider's interpreter and perhaps not the sandbox's."""
    for item in _distribution(name).files or ():
        skipped = item.parts[0] == ".." or item.suffix in (".so", ".pyc") or item.is_absolute()
        if not skipped:
            target = site.joinpath(*item.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(str(item.locate())), target)


def _ruff() -> Path:
    for item in _distribution("ruff").files or ():
        if item.name == "ruff" and item.parent.name == "bin":
            return Path(str(item.locate())).resolve()
    raise NoTool(tool="ruff")


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise NoTool(tool=name) from None
