"""Kills at random moments under load: what was acknowledged stays, once, and every retry settles.

More than a hundred kills in a deep run, a quarter of them in every other. `CHOIR_TEST_KILLS=2000` makes it a long one,
and `CHOIR_TEST_SEED` repeats the choices of a run; both are printed when a test fails.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import ChoirError, Unavailable
from choir.foundation.settings import load_settings
from choir.ledger import queries
from choir.ledger.model import Posted
from choir.ledger.verification import verify_database
from choir.node import Node, build_node
from choir.operations.home import prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.storage.database import Database
from choir.storage.embedded.previous import Places
from choir.storage.postgres import EmbeddedPostgres
from choir.storage.processes import processes_of
from tests.depth import times
from tests.operations.kill_writer import PAYEE, PAYER, amount_of, request
from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund, new_node, until
from tests.places import DISK
from tests.storage.servers import exists, remove_home

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("CHOIR_TEST_KILLS", times(24, 104)))
SEED = int(os.environ.get("CHOIR_TEST_SEED", str(random.SystemRandom().randrange(10**9))))
NODE_KILLS = max(times(8, 32), KILLS * 3 // 10)  # every second one of them ends the whole node
DATABASE_KILLS = KILLS - NODE_KILLS
STREAMS = ["a", "b", "c"]
MONEY = 10**12


@pytest.fixture
def chance() -> random.Random:
    """The same choices for the same seed."""
    print(f"CHOIR_TEST_SEED={SEED} CHOIR_TEST_KILLS={KILLS}")  # noqa: T201 - shown when the test fails
    return random.Random(SEED)


# The database and its writers


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir=DISK) as closed:
        place = Path(closed, "home")
        yield place
        remove_home(place)


class Writers:
    """Two processes that send the same streams of requests."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.notes = [home.with_name("first"), home.with_name("second")]
        self.processes = [self._start(notes) for notes in self.notes]

    def _start(self, notes: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.operations.kill_writer", str(self._home), str(notes), ",".join(STREAMS)]
        return subprocess.Popen(command, cwd=Path(__file__).parents[2])

    def kill(self, which: int) -> None:
        self.processes[which].kill()
        self.processes[which].wait()
        self.processes[which] = self._start(self.notes[which])

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def noted(self) -> tuple[set[str], list[tuple[str, str, str, int]]]:
        """Every key that was sent, and every acknowledgement as (key, id, hash, number)."""
        sent: set[str] = set()
        acknowledged: list[tuple[str, str, str, int]] = []
        for notes in self.notes:
            for file in notes.parent.glob(f"{notes.name}.*"):
                for line in file.read_text().splitlines():
                    words = line.split()
                    if words[:1] == ["sent"] and len(words) == 2:
                        sent.add(words[1])
                    elif words[:1] == ["acknowledged"] and len(words) == 5:
                        acknowledged.append((words[1], words[2], words[3], int(words[4])))
        return sent, acknowledged


@pytest.mark.scaled
def test_whatever_dies_below_them_writers_lose_nothing_and_nothing_counts_twice(
    home: Path, chance: random.Random
) -> None:
    server_of = EmbeddedPostgres(home)
    settings = load_settings({"home": str(home)}, {})
    prepare_home(settings, SystemEntropy())
    dsns = Dsns.embedded(server_of.start())
    prepare_database(settings, dsns)
    node = build_node(settings, Database(dsns.app).open())
    with node.unit_of_work() as tx:
        node.funding.open_accounts(tx, PAYER)
        node.accounts.open(tx, [PAYEE], reason="a test", source="test")
        node.ledger.post(tx, node.funding.draft(PAYER, MONEY, source="test", key="funds"))
    node.close()
    writers = Writers(home)
    try:
        for number in range(DATABASE_KILLS):
            time.sleep(chance.uniform(0.02, 0.5))
            _kill_one_of(home, server_of, writers, chance.choice(["server", "server", "server", "backend", "writer"]))
            assert all(process.poll() is None for process in writers.processes), f"a writer ended at kill {number}"
        until(lambda: _accepts(server_of, dsns))
        until(lambda: _did_enough(writers.noted()[1]))  # however long the machine takes for it
    finally:
        writers.stop()
    node = build_node(settings, Database(server_of.start().dsn("choir_app"), wait_s=60).open())
    try:
        _check_books(node, *writers.noted())
    finally:
        node.close()
        server_of.stop()


def _kill_one_of(home: Path, server_of: EmbeddedPostgres, writers: Writers, victim: str) -> None:
    server = server_of.start()  # the running one
    if victim == "writer":
        writers.kill(server.pid % 2)
    elif victim == "backend":  # the server ends all its connections and recovers by itself
        places = Places.of(home)
        backends = [pid for pid in processes_of(places.data, places.token) if pid != server.pid]
        with contextlib.suppress(ProcessLookupError):  # while it recovers there may be none, or one that just ends
            os.kill(max(backends, default=server.pid), signal.SIGKILL)
    else:
        os.kill(server.pid, signal.SIGKILL)
        until(lambda: not exists(server.pid))
        until(lambda: not server_of.alive())
        _start_again(server_of)


def _start_again(server_of: EmbeddedPostgres) -> None:
    for attempt in range(5):
        try:
            server_of.start()
        except ChoirError:
            assert attempt < 4
        else:
            return


def _accepts(server_of: EmbeddedPostgres, dsns: Dsns) -> bool:
    try:
        psycopg.connect(dsns.app, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return server_of.alive()


def _shared(acknowledged: list[tuple[str, str, str, int]]) -> list[str]:
    """The requests that were acknowledged to more than one writer."""
    return [key for key, count in Counter(key for key, *_ in acknowledged).items() if count > 1]


def _did_enough(acknowledged: list[tuple[str, str, str, int]]) -> bool:
    """Whether there is something to check, and both writers really were at the same requests."""
    return len(acknowledged) > 20 * len(STREAMS) and len(_shared(acknowledged)) > 10


def _check_books(node: Node, sent: set[str], acknowledged: list[tuple[str, str, str, int]]) -> None:
    assert _did_enough(acknowledged)
    outcomes: dict[str, Posted] = {}
    keys = sorted(sent)
    for start in range(0, len(keys), 1000):
        some = keys[start : start + 1000]
        for key, outcome in zip(some, node.submitter.submit_batch([[request(key)] for key in some]), strict=True):
            assert isinstance(outcome, Posted), f"{key}: {outcome}"  # every retry settles
            outcomes[key] = outcome
    for key, id_, hash_, seq in acknowledged:
        found = outcomes[key]
        assert found.again, f"{key} was acknowledged and is not there"
        assert (str(found.id), found.hash.hex(), found.seq) == (id_, hash_, seq), key
    with node.unit_of_work() as tx:
        stored = tx.rows("select key, id, hash from entries where source = 'writer'")
        assert sorted(key for key, *_ in stored) == keys  # each exactly once, and nothing else
        assert {key: (id_, hash_) for key, id_, hash_ in stored} == {
            key: (found.id, found.hash) for key, found in outcomes.items()
        }
        moved = sum(amount_of(key) for key in keys)
        assert queries.balance(tx, PAYEE).balance == moved
        assert queries.balance(tx, PAYER).balance == MONEY - moved
        assert sum(line.balance for line in queries.trial_balance(tx)) == 0
    with node.unit_of_work() as tx:
        assert verify_database(tx, node.keys).differences == ()


# Whole nodes over HTTP


class Callers:
    """Threads that send requests through the SDK, each request by two of them."""

    def __init__(self, node: NodeUnderTest) -> None:
        self._node = node
        self._stop = threading.Event()
        self._mutex = threading.Lock()
        self.sent: set[str] = set()
        self.acknowledged: list[tuple[str, str, str]] = []
        self.surprises: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._call, args=(stream,)) for stream in STREAMS for _ in ("first", "second")
        ]
        for thread in self._threads:
            thread.start()

    def _call(self, stream: str) -> None:
        try:
            with self._node.client(timeout_s=20, patience_s=5) as client:
                number = 0
                while not self._stop.is_set():
                    number += 1
                    key = f"{stream}-{number}"
                    with self._mutex:
                        self.sent.add(key)
                    while not self._stop.is_set():
                        try:
                            posted = client.transfer(ADA, BOB, amount_of(key), reason="a test", key=key)
                        except Unavailable:
                            continue
                        with self._mutex:
                            self.acknowledged.append((key, posted.id, posted.hash))
                        break
                    time.sleep(0.01)
        except BaseException as error:
            self.surprises.append(error)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()


@pytest.mark.deep
def test_a_node_that_is_killed_again_and_again_keeps_every_acknowledged_entry(chance: random.Random) -> None:
    with new_node(DISK, CHOIR_PROCESSES="2") as node:
        fund(node.up(), amount=MONEY)
        callers = Callers(node)
        whole = 0
        try:
            for number in range(NODE_KILLS):
                time.sleep(chance.uniform(0.0, 0.4))
                if number % 2 == 0:
                    whole += 1
                    _kill_whole(node, chance)
                else:
                    _kill_part(node, chance.choice(["database", "database", "worker"]))
                assert callers.surprises == []
            until(node.ready, 60)
            time.sleep(2)
        finally:
            callers.stop()
        assert whole >= NODE_KILLS // 2 - 1
        assert callers.surprises == []
        until(node.ready, 60)
        _check_node(node, callers)


def _kill_whole(node: NodeUnderTest, chance: random.Random) -> None:
    """Kill the node, sometimes with its database and workers, sometimes while it still starts."""
    assert node.process is not None
    along = [node.database_pid(), *node.workers()] if chance.random() < 0.5 else []
    node.process.kill()
    for pid in along:
        if pid is not None and exists(pid):
            os.kill(pid, signal.SIGKILL)
    node.process.wait()
    node.launch()
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0.2, 1.5))
        node.kill()
        node.launch()
    until(lambda: node.ready() or node.process is None or node.process.poll() is not None, 90)
    assert node.process.poll() is None, node.said[-3000:]


def _kill_part(node: NodeUnderTest, what: str) -> None:
    victims = [node.database_pid()] if what == "database" else node.workers()[:1]
    for pid in victims:
        if pid is not None and exists(pid):
            os.kill(pid, signal.SIGKILL)


def _check_node(node: NodeUnderTest, callers: Callers) -> None:
    assert len(callers.acknowledged) > 10 * len(STREAMS)
    with node.client(patience_s=30) as client:
        settled = {}
        for key in sorted(callers.sent):
            posted = client.transfer(ADA, BOB, amount_of(key), reason="a test", key=key)
            settled[key] = (posted.id, posted.hash)
        for key, id_, hash_ in callers.acknowledged:
            assert settled[key] == (id_, hash_), key
        moved = sum(map(amount_of, callers.sent))
        assert client.balance(BOB).balance == str(moved)
        assert client.balance(ADA).balance == str(MONEY - moved)
        assert client.trial_balance().balanced
        assert client.node().entries == len(callers.sent) + 1
    verified = node.run("ledger", "verify", "--json")
    assert verified.code == 0, verified.out
    assert verified.json["differences"] == []
    assert len([left for left in node.left() if "cli.main" in left]) == 1  # nothing of the killed ones runs
