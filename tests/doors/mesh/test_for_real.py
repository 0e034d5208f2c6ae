"""Buying for real: a node, a provider process, and the command line of somebody who has done nothing else before."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from choir.bazaar.contracts import RunOutput
from choir.doors.mesh import recheck
from choir.doors.sdk import blobs
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import TooLarge
from choir.foundation.money import Asset
from choir.sdk import AsyncClient, AsyncMeshClient, Client, MeshClient, NostrKey
from tests.auditor import verifier
from tests.doors.mesh.processes import serving
from tests.doors.mesh.test_bundles import commit, git
from tests.doors.townsfolk import neighbour, public_node, public_url
from tests.operations.nodes import CHOIR, NodeUnderTest, until

ROOT = Path(__file__).parents[3]
FIXER = ROOT / "examples/workers/simple_fixer.py"
CALCULATOR = ROOT / "examples/broken-calculator"
STEP = ROOT / "examples/ci/buy_a_patch.py"
PYTEST = "python3 -m pytest -q"
QUICK = {
    "CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3",
    "CHOIR_POLICY__BAZAAR__PLANTED_ONE_IN": "1",
    "CHOIR_POLICY__BAZAAR__PLANTED_AFTER_S_MAX": "0",
}


@dataclass
class Market:
    """A node with one provider that runs, reviews and fixes."""

    node: NodeUnderTest
    folder: Path
    checkout: Path  # a repository with the broken calculator in a folder of it
    provider: Path  # where the provider keeps its own
    before: str  # who asks, before anybody has ordered anything

    def job(self) -> str:
        """The id of the last order."""
        return str(self.node.run("job", "ls", "--json").json[0]["id"])


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    folder = tmp_path_factory.mktemp("market")
    checkout = folder / "checkout"
    shutil.copytree(CALCULATOR, checkout / "tools" / "calculator", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    git(checkout, "init", "-q", "-b", "main")
    commit(checkout, other_DOT_txt="nobody's business\n")
    commit(checkout, new_DOT_py="import os\n\n\ndef f(x):\n    return eval(x)\n")
    with public_node(**QUICK) as node, serving(node, folder / "provider", "run", "review", str(FIXER)):
        yield Market(node, folder, checkout, folder / "provider", node.run("whoami").out)


def test_a_run_works_with_nothing_done_before(market: Market) -> None:
    node = market.node
    assert "  orders as   nobody yet; the first order creates" in market.before
    done = node.run("job", "submit", "run", "--deterministic", "--", "python3", "-c", "print(6*7)")
    assert (done.code, done.out) == (0, "42\n"), done.err
    for word in (
        "play money",
        "SAT are held",
        "assigned to provider_",
        "verifying",
        "passed and paid",
        "Receipt sha256:",
    ):
        assert word in done.err
    (key,) = (node.home / "buyers").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    assert json.loads(key.read_text())["secret"] not in done.err + node.said
    buyer = node.run("whoami", "--json").json["buyer"]
    assert done.err.startswith(f"{buyer}, this machine's own buyer, pays with play money")
    assert f"  orders as   {buyer}, this machine's own buyer, with play money\n" in node.run("whoami").out
    assert node.run("--operator", "whoami", "--json").json["buyer"] is None

    listed = node.run("job", "ls", "--json").json[0]
    assert (listed["held"], listed["attempts_made"], "attempts" in listed) == ("0", 1, False)
    job = market.job()
    shown = node.run("job", "show", job)
    assert "check       passed  exit code" in shown.out
    assert shown.out.splitlines()[:2] == [f"{job}  run  paid", "  what        python3 -c 'print(6*7)'"]
    assert node.run("job", "show", job[:-6]).out == node.run("job", "show", job[4:-6]).out == shown.out
    assert node.run("job", "ls").out.splitlines()[1].endswith("  python3 -c 'print(6*7)'")
    unknown = node.run("job", "show", "job_00000000000", "--json")
    assert (unknown.code, json.loads(unknown.err)["error"]["code"]) == (1, "bazaar.prefix_unknown")
    explained = node.run("job", "explain", job, "--json").json
    (one,) = explained[0]["why"]["candidates"]
    assert one["total"] == sum(part["points"] for part in one["components"])
    assert f"{one['total']} points" in node.run("job", "explain", job).out

    checked = node.run("job", "verify", job)
    assert checked.code == 0, checked
    assert "the node's verdict is confirmed" in checked.out
    assert "DIFFERS" not in checked.out

    public = node.run("key", "show").out.split()[-1]
    for words in (("job",), ("--operator", "job"), ("provider",)):  # the buyer, an operator, whoever sold it
        where = ("--provider-home", str(market.provider)) if words == ("provider",) else ()
        given = node.run(*words, "receipt", job, *where)
        assert given.code == 0, given
        (market.folder / "receipt.json").write_text(given.out)
        told = verifier.run("receipt", market.folder / "receipt.json", "--key", public)
        assert (told.code, told.report["job"]) == (0, job), told.report
        assert set(told.report["keys"]) == {"payer", "payee"}

    seller = next(item["provider"] for item in node.run("job", "show", job, "--json").json["job"]["attempts"])
    sold = node.run("provider", "show", seller, "--json").json
    assert int(sold["raw_volume"]) > 0
    assert (sold["organic_volume"], sold["buyers"]) == ("0", 0)  # buyer and seller are of one home
    assert (
        f"0.000 SAT organic; {Asset.SAT.format(int(sold['raw_volume']))} SAT from related buyers"
        in node.run("provider", "show", seller).out
    )

    again = node.run("job", "result", job)  # for whoever did not wait, or lost it
    assert (again.code, again.out) == (0, "42\n"), again
    into = market.folder / "out.txt"
    assert node.run("job", "result", job, "--out", str(into), "--json").json["job"]["id"] == job
    assert into.read_text() == "42\n"
    assert node.run("job", "result", job, "--out", str(into)).code == 1
    assert into.read_text() == "42\n"


@pytest.mark.deep
def test_a_terminal_shows_all_open_jobs(market: Market) -> None:
    """Nobody is there to do this one, so it stays open; in 80 columns no id is broken."""
    node = market.node
    assert node.run("job", "submit", "run", "--region", "nowhere", "--no-wait", "--", "true").code == 0
    job = market.job()
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [*CHOIR, "job", "watch", "--timeout", "2"]
    environment = node.environment | {"TERM": "xterm"}
    process = subprocess.Popen(command, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = _everything(main)
    assert process.wait(30) == 0, shown
    assert "1 open job at " in shown
    assert re.search(rf"{job} +run +open +≤ \S+ +\d\d \w{{3}} \d\d:\d\d", shown), shown
    assert re.search(r"1 open job at \S+  0:0\d; Ctrl-C ends the view", shown), shown
    piped = node.run("job", "watch", "--timeout", "1")  # of all, and not for ever
    assert (piped.code, piped.out) == (0, ""), piped
    assert node.run("job", "cancel", job).code == 0


def _everything(terminal: int) -> str:
    """What a terminal was sent, until whoever wrote to it is gone."""
    data = b""
    with suppress(OSError):  # the other end is closed
        while piece := os.read(terminal, 65536):
            data += piece
    os.close(terminal)
    return data.decode("utf-8", "replace")


@pytest.mark.deep
def test_what_the_buyer_wanted_otherwise_is_not_paid(market: Market) -> None:
    node = market.node
    done = node.run(
        "job", "submit", "run", "--exit-code", "0", "--strategy", "first_available", "--timeout", "15", "--",
        "sh", "-c", "exit 3",
    )  # fmt: skip
    assert done.code == 6, done  # there is nobody else to try it
    assert "failed at provider_" in done.err
    job = market.job()
    assert node.run("job", "cancel", job).out == f"{job} is cancelled.\n"
    shown = node.run("job", "show", job, "--json").json["job"]
    assert (shown["state"], shown["held"], shown["attempts"][0]["paid"]) == ("cancelled", "0", "0")
    assert node.run("job", "verify", job).code == 1
    mine = node.run("provider", "verify", job, "--provider-home", str(market.provider), "--json")
    assert mine.code == 0, mine
    assert [check["here"] for check in mine.json["checks"] if "failed" in check["node"]] == ["failed (run.exit_code)"]
    assert mine.json["differences"] == []
    assert node.run("--operator", "job", "verify", job).code == 4  # nobody disputes it


def test_a_review_names_files_and_lines(market: Market) -> None:
    done = market.node.run(
        "job", "submit", "review", "--repo", str(market.checkout), "--diff", "HEAD~1", "--timeout", "60"
    )
    assert done.code == 0, done.err
    assert any(line.startswith("new.py:5: ") for line in done.out.splitlines()), done.out
    assert "the changed files in full" in done.err
    inputs = market.node.run("job", "show", market.job(), "--json").json["job"]["inputs"]
    assert sorted(inputs) == ["diff", "repository"]


def test_a_review_is_followed_by_one_of_the_nodes_own(market: Market) -> None:
    node = market.node
    assert node.run("fund", "system:platform/fees/SAT", "50000").code == 0
    market_home = ("--provider-home", str(market.provider))
    submitted = ("job", "submit", "review", "--repo", str(market.checkout), "--diff", "HEAD~1", "--timeout", "60")
    assert node.run(*submitted).code == 0

    def planted() -> list[str]:
        ordered = {item["id"] for item in node.run("job", "ls", "--json").json}
        outcomes = node.run("provider", "status", *market_home, "--json").json["outcomes"]
        return [item["job"] for item in outcomes if item["job"] not in ordered]

    until(lambda: bool(planted()), 60)
    job = planted()[0]
    mine = node.run("provider", "verify", job, *market_home)
    assert mine.code == 0, mine
    assert "planted defects" in mine.out  # which stay hidden from who has passed them


def test_a_patch_of_a_folder_applies_to_the_repository(market: Market) -> None:
    out = market.folder / "fix.diff"
    folder = market.checkout / "tools" / "calculator"
    done = market.node.run(
        "job", "submit", "patch", "--repo", str(folder), "--test", PYTEST, "--out", str(out), "--timeout", "90"
    )
    assert done.code == 0, done.err
    assert done.out == ""
    assert "other.txt" not in done.err
    git(market.checkout, "apply", str(out))
    try:
        assert "return left / right" in (folder / "calculator.py").read_text()
        refused = market.node.run("job", "submit", "patch", "--repo", str(folder), "--test", PYTEST)
        assert refused.code == 1
        assert "uncommitted changes: tools/calculator/calculator.py" in refused.err
        again = market.node.run("job", "submit", "patch", "--test", PYTEST, "--out", str(out))
        assert "already exists" in again.err
    finally:
        git(market.checkout, "checkout", "-q", "--", ".")
    checked = market.node.run("job", "verify", market.job(), "--json")
    assert (checked.code, checked.json["differences"]) == (0, [])
    assert checked.json["sandbox"] != "none"


def test_a_dispute_shows_its_deposit_and_asks_first(market: Market) -> None:
    node = market.node
    assert node.run("job", "submit", "run", "--deterministic", "--", "python3", "-c", "print(1)").code == 0
    job = market.job()
    words = ("job", "dispute", job, "--reason", "hash_mismatch", "--statement", "It prints something else.")
    refused = node.run(*words)
    assert refused.code == 1
    assert "A deposit of 3000.000 SAT is taken." in refused.err
    opened = node.run(*words, "--yes", "--json")
    assert opened.code == 0, opened
    assert opened.json["deposit"] == "3000000"
    dispute = opened.json["id"]
    until(lambda: node.run("job", "dispute", "show", dispute, "--json").json["state"] == "resolved", 90)
    assert "for the provider" in node.run("job", "dispute", "show", dispute).out
    assert "dispute dispute_" in node.run("job", "show", job).out


@pytest.mark.deep
def test_ci_buys_a_patch_and_buys_it_once(market: Market) -> None:
    node = market.node
    repo, out = market.folder / "ci", market.folder / "ci.diff"
    shutil.copytree(CALCULATOR, repo, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    git(repo, "init", "-q")
    commit(repo)
    command = [sys.executable, str(STEP), "--repo", str(repo), "--test", PYTEST, "--timeout", "90"]
    with neighbour(node, "ada") as ada, node.client() as operator:
        operator.fund(f"{ada.owner}/available/SAT", 10_000_000)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # where pytest is
        settings = node.environment | {"CHOIR_NODE": node.url, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        token = {"CHOIR_TOKEN": ada.token("read", "buy")}
        assert subprocess.run(command, env=settings, capture_output=True, check=False).returncode == 2
        for _ in range(2):
            done = subprocess.run(
                [*command, "--out", str(out)], env=settings | token, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
        with Client(node.url, token["CHOIR_TOKEN"]) as client:
            assert len(list(client.jobs.mine())) == 1
        git(repo, "apply", str(out))
        passed = subprocess.run(command, env=settings | token, capture_output=True, text=True, check=False)
        assert (passed.returncode, "nothing is bought" in passed.stdout) == (0, True)
        git(repo, "checkout", "-q", ".")
        _check_ci_that_nobody_serves([*command, "--budget", "11"], settings | token)
        readers = {"CHOIR_TOKEN": ada.token("read")}
        refused = node.run("job", "submit", "run", "--budget", "300", "--", "true", env=readers)
        assert refused.code == 4
        assert "choir login --scope read --scope buy" in refused.err


def _check_ci_that_nobody_serves(command: list[str], environment: dict[str, str]) -> None:
    """For so little nobody does it: that is said, the time limit is kept, and Ctrl-C is one line."""
    late = subprocess.run([*command, "--timeout", "6"], env=environment, capture_output=True, text=True, check=False)
    assert late.returncode == 3, late
    assert re.search(
        r"^0:0\d  (job_\w+) is open: no provider can take it now .*choir job cancel \1$", late.stdout, re.MULTILINE
    ), late
    assert "and it continues. Get the result with" in late.stderr
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    job = next(line for line in process.stdout if "no provider can take it" in line).split()[1]
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said == f"Interrupted. {job} continues: run this step again to get it. Cancel it: choir job cancel {job}\n"


def test_an_agent_on_a_key_sends_as_much_as_others(market: Market) -> None:
    """Its signature is over the body, which has to be read before anything is known of it."""
    node = market.node
    data = os.urandom(400_000)
    known, unknown = (NostrKey(os.urandom(32).hex(), public_url=public_url(node)) for _ in range(2))
    with Client(node.url, auth=known) as agent, Client(node.url, auth=unknown) as stranger:
        agent.agents.stand("sender")
        assert blobs.upload(agent, data) == bytes_hash(data)
        begun = agent.uploads.begin(len(data) + 1, bytes_hash(data + b"x"))
        with pytest.raises(TooLarge):
            stranger.uploads.put_part(begun.id, 0, data + b"x")


@pytest.mark.deep
def test_waiting_goes_on_while_the_node_is_away(market: Market) -> None:
    """And the SDK verifies what came, once more in a sandbox of its own."""
    node = market.node
    with neighbour(node, "bob") as bob, Client(node.url, bob.token("read", "buy")) as client:
        with node.client() as operator:
            operator.fund(f"{bob.owner}/available/SAT", 1_000_000)
        given = str(client.node().key)
        mesh = MeshClient(client, node_key=given)
        order = mesh.run(["sh", "-c", "sleep 4; echo done"], deterministic=True)
        found: list[object] = []
        thread = threading.Thread(target=lambda: found.append(mesh.await_and_verify(order, 120)))
        thread.start()
        until(lambda: client.jobs.get(order.id).state == "running")
        node.stop()
        node.up()
        thread.join(120)
        (outcome,) = found
        assert outcome.artifact == RunOutput(0, b"done\n")  # type: ignore[attr-defined]
        recheck.must_agree(client, outcome)  # type: ignore[arg-type]
        assert asyncio.run(_awaited(node.url, bob.token("read"), order.id, given)) == RunOutput(0, b"done\n")


async def _awaited(url: str, token: str, job: str, node_key: str) -> object:
    """The same result by the client to await."""
    async with AsyncClient(url, token) as client:
        mesh = AsyncMeshClient(client, node_key=node_key)
        found = await mesh.await_and_verify(await mesh.handle(job), 30)
        await mesh.close()
        return found.artifact
