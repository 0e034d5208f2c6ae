"""A real node and real `choir provider serve` processes: work is paid, also when a provider is killed in the middle."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from choir.bazaar.attempts.model import AttemptOver
from choir.bazaar.contracts import SandboxRunResult
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader as trajectories
from choir.bazaar.trajectories.reader import ExpectedTrajectory, SignedTrajectory
from choir.bazaar.workers.fulfilment import FulfilledOrder
from choir.bazaar.workers.model import WorkOrder
from choir.doors.cli.main import app
from choir.doors.jobs.shapes import AttemptOut, JobOut
from choir.doors.provider import carrier, seller
from choir.doors.provider.home import ProviderHome
from choir.doors.provider.model import AddressNotSigned, CannotSell
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash, hash_digest
from choir.foundation.money import Asset
from choir.foundation.signing import verify_bip340
from choir.sdk import Client
from tests.doors.townsfolk import Neighbour, neighbour, public_node
from tests.operations.nodes import CHOIR, NodeUnderTest, all_pids, command_line, until

QUICK = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3"}
BUDGET = 1_000_000


@dataclass
class Served:
    """A `choir provider serve` in a process of its own."""

    node: NodeUnderTest
    name: str
    process: subprocess.Popen[str] = field(init=False)

    @property
    def home(self) -> Path:
        return self.node.temporary / "providers" / self.name

    @property
    def said_file(self) -> Path:
        return self.node.temporary / f"{self.name}.said"

    def start(self) -> Served:
        command = ["provider", "serve", "--json", "--worker", "run", "--name", self.name, "--region", "eu-west"]
        with self.said_file.open("a") as said:
            self.process = subprocess.Popen(
                [*CHOIR, *command, "--provider-home", str(self.home)],
                env=self.node.environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, text=True,
            )  # fmt: skip
        return self

    def told(self, what: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.said_file.read_text().splitlines()]
        return [line for line in lines if line.get("event") == what]

    def until_told(self, what: str, **facts: object) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def is_told() -> bool:
            assert self.process.poll() is None or what == "stopped", self.said_file.read_text()
            found[:] = [line for line in self.told(what) if all(line[name] == facts[name] for name in facts)]
            return bool(found)

        until(is_told, 60)
        return found[0]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)


@dataclass
class Town:
    """A node, somebody with money, and providers."""

    node: NodeUnderTest
    ada: Neighbour
    buyer: Client
    providers: dict[str, Served] = field(default_factory=dict)

    def provider(self, name: str) -> Served:
        """One that serves and has qualified; each test asks for those it needs, so that it can run alone."""
        if name not in self.providers:
            self.providers[name] = Served(self.node, name).start()
            self.providers[name].until_told("qualification", state="passed")
        return self.providers[name]

    def order(self, key: str, *argv: str, **options: Any) -> JobOut:
        request = {"argv": list(argv), "max_cost_msat": str(BUDGET), "time_limit_s": 60, "idempotency_key": key}
        return self.buyer.jobs.open("sandbox_run", request, **options)

    def status(self, served: Served) -> Any:
        return json.loads(self.shown("provider", "status", "--json", "--provider-home", str(served.home)))

    def shown(self, *command: str) -> str:
        """What a command prints; in this process, which is quicker."""
        done = CliRunner(env=self.node.environment | {"COLUMNS": "200"}).invoke(app, list(command))
        assert done.exit_code == 0, (done.output, done.exception)
        return done.stdout

    def until_paid(self, job: JobOut) -> JobOut:
        until(
            lambda: self.buyer.jobs.get(job.id).state not in ("open", "assigned", "running", "delivered", "verifying")
        )
        found = self.buyer.jobs.get(job.id)
        assert found.state == "paid", found
        return found


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with (
        public_node(**QUICK) as node,
        neighbour(node, "ada") as ada,
        Client(node.url, ada.token("read", "buy")) as buyer,
    ):
        with node.client() as operator:
            operator.fund(f"{ada.owner}/available/SAT", 100 * BUDGET)
        made = Town(node, ada, buyer)
        try:
            yield made
        finally:
            for each in made.providers.values():
                each.end()


def check_trajectory(town: Town, attempt: AttemptOut, job: JobOut, public: bytes) -> None:
    """Stored whole, signed by the provider's result key, and of this job."""
    result = town.buyer.attempts.result(attempt.id)
    assert result.hash == canonical_hash(result.value) == attempt.result
    signature = bytes.fromhex(result.signatures[0].signature)
    verify_bip340(public, hash_digest(ObjectHash(result.hash)), signature)
    data = town.buyer.attempts.trajectory_part(attempt.id)
    assert bytes_hash(data) == attempt.trajectory == result.value["trajectory_id"]
    found = trajectories.check_content(data, ExpectedTrajectory(job.id, public, job.type), WorkersPolicy())
    assert found.end.summary.startswith("ended with code 0")


def test_a_run_is_done_by_a_provider_that_needed_nothing_and_is_paid(town: Town) -> None:
    provider = town.provider("ann")
    job = town.until_paid(town.order("one", "python3", "-c", "print(6*7)"))
    artifact = json.loads(town.buyer.jobs.artifact_part(job.id))
    assert base64.b64decode(artifact["stdout"]) == b"42\n"
    outcome = provider.until_told("outcome", job=job.id)
    assert outcome["state"] == "passed"
    assert outcome["paid"] == job.price
    status = town.status(provider)
    assert status["balance"] == outcome["earned"]
    assert 0 < int(status["balance"]) < int(outcome["paid"])  # the platform has its share
    assert status["provider"]["claimed"] == {"name": "ann", "region": "eu-west", "model": "", "isolation": "bubblewrap"}
    assert status["provider"]["online"] is True
    check_trajectory(town, job.attempts[0], job, bytes.fromhex(status["provider"]["result_key"]))
    many = town.until_paid(town.order("much", "python3", "-c", "print('x' * 300_000)"))  # delivered in parts
    much = json.loads(town.buyer.jobs.artifact_part(many.id))
    assert base64.b64decode(much["stdout"]) == b"x" * 300_000 + b"\n"
    said = provider.said_file.read_text()
    for file in ("agent.key", "result.key"):
        path = provider.home / file
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.read_text().strip() not in said


def test_what_a_person_reads(town: Town) -> None:
    """Prices and earnings, exact; a stranger's look; a second process on the same folder; a folder without one."""
    ann = town.provider("ann")
    home = ("--provider-home", str(ann.home))
    prices = ("--per-unit", "0", "--cap", "4000")
    assert "199.999" in town.shown("provider", "pricebook", "set", "run", "--base", "199.999", *prices, *home)
    history = json.loads(town.shown("provider", "pricebook", "history", "run", "--json", *home))
    assert [(book["version"], book["base"], book["per_unit"]) for book in history] == [
        (2, "199999", "0"),
        (1, "200000", "500"),
    ]
    assert "199.999" in town.shown("provider", "pricebook", "show", *home)
    status = json.loads(town.shown("provider", "status", "--json", *home))
    balance = Asset.SAT.format(int(status["balance"]))
    assert f"  balance     {balance} SAT" in town.shown("provider", "status", *home)
    assert town.shown("provider", "earnings", "--period", "day", *home).startswith(f"{balance} SAT earned")
    listed = town.shown("provider", "ls")
    assert "ann" in listed
    assert "online" in listed
    assert "tier 0" in town.shown("provider", "show", status["provider"]["id"])
    again = town.node.run("provider", "serve", *home)
    assert again.code == 1
    assert f"running from {home[1]} (process {ann.process.pid})" in again.err
    nobody = town.node.run("provider", "status", "--provider-home", str(town.node.temporary / "nobody"))
    assert nobody.code == 1
    assert "choir provider serve" in nobody.err
    assert not (town.node.temporary / "nobody").exists()  # asking makes nothing


def test_who_sells(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in town.node.environment.items():
        monkeypatch.setenv(name, value)
    home = ProviderHome(tmp_path / "new")
    assert seller.find(home, make=False) is None
    monkeypatch.setenv("CHOIR_TOKEN", town.ada.token("read"))
    with pytest.raises(CannotSell, match="lacks the scope"):
        seller.find(home)
    monkeypatch.setenv("CHOIR_TOKEN", town.node.token)
    with pytest.raises(CannotSell, match="operator"):
        seller.find(home)
    agent = town.ada.agent()
    delegation = town.ada.delegation(agent, "sell")
    monkeypatch.setenv("CHOIR_TOKEN", town.ada.token("sell", delegation=delegation))
    by_token = seller.find(home)
    assert by_token is not None
    assert by_token.owner == f"agent:{agent.removeprefix('agent_')}"
    assert not home.has_agent
    monkeypatch.delenv("CHOIR_TOKEN")
    own = seller.find(home)  # the operator's token is there, and is not used
    assert own is not None
    assert own.owner.startswith("agent:")
    assert own.owner != by_token.owner
    named = seller.find(ProviderHome(tmp_path / "other"), key_file=home.agent_key_file)
    assert named is not None
    assert named.owner == own.owner
    with pytest.raises(AddressNotSigned, match="another address"):
        seller.find(home, public_url="http://elsewhere.example")


@pytest.mark.deep
def test_a_killed_providers_job_goes_to_the_next_and_its_late_result_is_refused(town: Town) -> None:
    ann = town.provider("ann")
    naps = "4.0625"  # a number to find the process by
    job = town.order("killed", "sleep", naps)
    ann.until_told("started", job=job.id)
    ann.process.kill()
    ann.process.wait(30)
    until(lambda: not [pid for pid in all_pids() if naps.encode() in command_line(pid)])
    bob = town.provider("bob")
    paid = town.until_paid(job)
    first, second = sorted(paid.attempts, key=lambda item: item.n)
    assert (first.state, second.state) == ("gone", "passed")
    assert paid.winner == second.id
    assert bob.until_told("outcome", job=job.id)["state"] == "passed"
    with pytest.raises(AttemptOver):
        hand_in_late(town, ann, first)
    assert int(town.buyer.attempts.get(first.id).paid) == 0
    ann.start()  # and it comes back as the one that it was
    until(lambda: len(ann.told("serving")) == 2)
    assert len({line["provider"] for line in ann.told("serving")}) == 1


def hand_in_late(town: Town, served: Served, attempt: AttemptOut) -> None:
    """What the dead provider would have handed in, had it not been killed."""
    found = seller.find(ProviderHome(served.home), town.node.url)
    assert found is not None
    key = found.home.result_key()
    data = b"late"
    signed = trajectories.sign(data, key)
    result = SandboxRunResult(0, trajectory_id=signed.hash)
    signature = trajectories.sign_hash(bytes_hash(result.to_bytes()), key)
    order = WorkOrder(attempt.job, "sandbox_run", None)  # type: ignore[arg-type]  # not looked at when handing in
    outcome = FulfilledOrder(
        order, data, SignedTrajectory(signed.hash, signed.signature), data, bytes_hash(data), result, signature
    )
    with found.client() as client:
        carrier.hand_in(client, attempt.id, outcome)


def test_a_provider_that_is_told_to_stop_finishes_its_job_first(town: Town) -> None:
    bob = town.provider("bob")
    bobs = town.status(bob)["provider"]["id"]
    job = town.order("drained", "sleep", "3.0625", strategy={"kind": "pinned", "provider": bobs})
    bob.until_told("started", job=job.id)
    bob.process.send_signal(signal.SIGTERM)
    bob.until_told("draining", at_work=1)
    assert bob.process.wait(60) == 0
    assert bob.told("handed_in")[-1]["job"] == job.id
    assert bob.told("stopped")[-1]["left"] == 0
    town.until_paid(job)
    assert town.status(bob)["provider"]["draining"] is True
