"""The story's work: two providers in processes of their own, orders, verdicts, and a delivery that is refused."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choir.bazaar.contracts import RepoIndex, RunOutput
from choir.doors.demo import files
from choir.doors.demo.stage import Stage, shown
from choir.doors.mesh import job_wait
from choir.doors.mesh.client import MeshClient
from choir.doors.mesh.model import Handle, checks_of
from choir.foundation.errors import Unavailable
from choir.foundation.money import Asset
from choir.storage.processes import Child

if TYPE_CHECKING:
    from choir.doors.jobs.shapes import AttemptOut, JobOut
    from choir.doors.mesh.model import Outcome

_HONEST, _DISHONEST = "honest workshop", "corner cutters"
_WORKERS = {_HONEST: ("run", "review", files.worker("mender")), _DISHONEST: (files.worker("corner-cutter"),)}
_WAIT_S = 300.0
_STOP_S = 3.0
_FAILED, _PASSED = "failed", "passed"
_TESTS = "python3 -m pytest -q"
_LINKS = 5_000
_PROGRAM = (
    "import hashlib\n"
    "link = b'genesis'\n"
    f"for _ in range({_LINKS}):\n"
    "    link = hashlib.sha256(link).digest()\n"
    "print(link.hex())\n"
)


class ProviderEnded(Unavailable):
    """A provider's process ended before the story did."""

    code = "demo.provider_ended"
    sentence = "The provider '{name}' ended; its log is {log}."


class Providers:
    """Two providers, each `choir provider serve` in a process that ends with this one, also if that is killed."""

    def __init__(self, stage: Stage, names: Iterable[str]) -> None:
        self._stage = stage
        self._children = {name: self._start(name) for name in names}

    def _log(self, name: str) -> Path:
        return self._stage.record.folder / f"{_slug(name)}.log"

    def _start(self, name: str) -> Child:
        stage, log = self._stage, self._log(name)
        words = [word for worker in _WORKERS[name] for word in ("--worker", worker)]
        where = ["--node", stage.url, "--public-url", stage.public_url]
        home = ["--provider-home", str(stage.record.folder / _slug(name))]
        command = [sys.executable, "-m", "choir.doors.cli.main", "provider", "serve", "--json", "--name", name]
        own = {key: value for key, value in os.environ.items() if key not in ("CHOIR_TOKEN", "CHOIR_PROVIDER_HOME")}
        env = own | {"CHOIR_HOME": str(stage.settings.home)}
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            return Child([*command, *words, *where, *home], signal.SIGKILL, env=env, stdout=out, stderr=out)

    def ready(self) -> None:
        """Until all have passed what the node asks of newcomers."""
        for name in self._children:
            stage, record = self._stage, self._stage.record
            found = record.once(
                f"provider {name}", partial(stage.until, f"the provider '{name}'", partial(self._id, name))
            )
            sold = stage.until(f"the provider '{name}' to qualify", partial(self._sold, name, found))
            stage.tell(f"provider '{name}' is ready; it had to show that it can do: {', '.join(sold)}")

    def _id(self, name: str) -> str | None:
        """Which provider it is, as soon as it says so."""
        if not self._children[name].running:
            raise ProviderEnded(name=name, log=self._log(name))
        lines = self._log(name).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        told = (json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n"))
        return next((str(item["provider"]) for item in told if item.get("event") == "serving"), None)

    def _sold(self, name: str, provider: str) -> list[str] | None:
        """What it may sell, once that is all that it offers."""
        self._id(name)
        found = self._stage.operator.providers.get(provider)
        passed = sorted(item.type.word for item in found.offers if item.qualification == _PASSED)
        return passed if found.online and len(passed) == len(_WORKERS[name]) else None

    def send_the_dishonest_home(self) -> None:
        """It drains by itself; nobody has to wait for that."""
        self._children[_DISHONEST].send(signal.SIGTERM)

    def stop(self) -> None:
        """Nothing is at work any more, so whoever takes long is not waited for."""
        for child in self._children.values():
            child.send(signal.SIGTERM)
        for child in self._children.values():
            if not child.wait(_STOP_S):
                child.send(signal.SIGKILL)
                child.wait(_STOP_S)


@contextmanager
def providers(stage: Stage, *, again: bool = False) -> Iterator[Providers]:
    """Both of them; `again`, when the story is over, the honest one alone."""
    made = Providers(stage, (_HONEST,) if again else _WORKERS)
    try:
        yield made
    finally:
        made.stop()


def buy(stage: Stage) -> None:
    """Three orders that are done and paid, and one whose delivery is refused."""
    buyer = stage.agent("a buyer")
    stage.fund(buyer, "50000", Asset.SAT)
    mesh = MeshClient(buyer.client, node_key=stage.operator.node().key)
    with tempfile.TemporaryDirectory(prefix="choir-demo-") as name:  # outside of any repository
        repository = files.put_repository(Path(name) / "harbour")
        orders = {
            "run": _order(stage, "run", lambda key: _run(stage, mesh, key)),
            "review": _order(stage, "review", lambda key: _review(stage, mesh, key)),
            "patch": _order(stage, "patch", lambda key: _patch(stage, mesh, repository, "test_depth.py", _HONEST, key)),
            "cheat": _order(
                stage, "cheat", lambda key: _patch(stage, mesh, repository, "test_times.py", _DISHONEST, key)
            ),
        }
    stage.tell("a buyer orders a run, a review and two patches; the money is held")
    for name in ("run", "review", "patch"):
        _await(stage, mesh, name, mesh.handle(orders[name]))
    _await_refusal(stage, mesh, orders["cheat"])


def _order(stage: Stage, name: str, order: Callable[[str], Handle]) -> str:
    return stage.record.once(f"job {name}", lambda: order(stage.record.id_of(f"job-{name}")).id)


def _run(stage: Stage, mesh: MeshClient, key: str) -> Handle:
    argv = ["python3", "-c", _PROGRAM]
    return mesh.run(argv, deterministic=True, exit_code=0, key=key, **_public(mesh.run), **_by(stage, _HONEST))


def _review(stage: Stage, mesh: MeshClient, key: str) -> Handle:
    public = _public(mesh.request_review)
    return mesh.request_review(diff=files.change(), key=key, **public, **_by(stage, _HONEST))


def _patch(stage: Stage, mesh: MeshClient, repository: Path, test: str, name: str, key: str) -> Handle:
    """The dishonest order is of the same kind; it asks for more than a small change."""
    title = "A boat crosses the bar" if name == _HONEST else "High water comes again"
    tests = f"{_TESTS} {test}"
    public = _public(mesh.request_patch)
    return mesh.request_patch(repository, title, test_command=tests, key=key, **public, **_by(stage, name))


def _by(stage: Stage, name: str) -> dict[str, Any]:
    """Who shall do it, and nobody else after them."""
    return {
        "criteria": {"providers": [stage.record.made[f"provider {name}"]]},
        "strategy": {"kind": "first_available"},
    }


def _public(order: Callable[..., Handle]) -> dict[str, Any]:
    """The one place that makes the story's orders public, as soon as an order can be."""
    return {"public": True} if "public" in inspect.signature(order).parameters else {}


def _await(stage: Stage, mesh: MeshClient, name: str, handle: Handle) -> None:
    found = mesh.await_and_verify(handle, _WAIT_S)
    stage.record.once(f"paid {name}", lambda: str(found.price))
    passed = sum(item.passed for item in found.checks)
    stage.tell(f"{name}: {_result(found)}; {passed} checks passed, {shown(found.price, Asset.SAT)} paid")


def _result(found: Outcome) -> str:
    """What was delivered, in a few words."""
    artifact = found.artifact
    if isinstance(artifact, str):  # a diff
        changed = [line for line in artifact.splitlines() if line[:1] == "+" and line[:3] != "+++"]
        return f"a diff, `{changed[0][1:].strip()}`" if changed else "a diff"
    if isinstance(artifact, RunOutput):
        return f"{_LINKS} links of a hash chain, {artifact.stdout.decode().strip()[:12]}…, run again by the node"
    if isinstance(artifact, RepoIndex):
        return f"{artifact.symbols} symbols in {artifact.parsed} files"
    worst = artifact.issues[0]
    words = worst.description.split(". ")[0]
    return f"{len(artifact.issues)} findings, such as {worst.file}:{worst.line_range[0]}: {words}"


def _await_refusal(stage: Stage, mesh: MeshClient, job: str) -> None:
    """The delivery of the dishonest provider fails its verdict; the order is cancelled, and the money is free again."""
    if "refused" not in stage.record.made:
        found = job_wait.wait_for(mesh.client, job, lambda item: _failed(item) is not None, timeout_s=_WAIT_S)
        attempt = _failed(found)
        assert attempt is not None
        reasons = [item for item in checks_of(mesh.client.attempts.verdict(attempt.id).verdict) if not item.passed]
        mesh.cancel(job)
        told = {"attempt": attempt.id, "code": reasons[0].reason, "words": reasons[0].details, "paid": attempt.paid}
        stage.record.once("refused", lambda: told)
    after = mesh.client.jobs.get(job)
    stage.record.once("held after refusal", lambda: after.held)
    refused = stage.record.made["refused"]
    stage.tell(f"the corner cutters changed the test instead of the code: refused ({refused['code']})")
    stage.tell(f"  {refused['words']}")
    paid = shown(refused["paid"], Asset.SAT)
    stage.tell(f"  {paid} paid; the order is {after.state}, and what was held is the buyer's again")


def _failed(job: JobOut) -> AttemptOut | None:
    return next((item for item in job.attempts if item.state == _FAILED), None)


def _slug(name: str) -> str:
    return name.replace(" ", "-")
