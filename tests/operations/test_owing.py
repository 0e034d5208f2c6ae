"""What a node owes is said by itself and when asked for: by one process at a time, whatever is killed meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from choir.foundation.clock import MICROSECONDS, SystemEntropy
from choir.foundation.money import Asset
from choir.foundation.settings import PUBLISHED, load_settings
from choir.ledger import queries
from choir.ledger.liabilities import service
from choir.ledger.liabilities.count import count
from choir.ledger.liabilities.model import NotAllCounted, PublicationRequest, Snapshot
from choir.ledger.liabilities.publication import LiabilityPublication
from choir.ledger.verification import verify_database
from choir.node import Node, build_node
from choir.operations.background import schedule_repeating
from choir.operations.home import prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.storage.database import Database
from choir.storage.tasks import forget_leases
from tests.conftest import DatabaseFactory
from tests.operations.nodes import ADA, BOB, until

Another = Callable[..., Node]
PUBLISH = service.PUBLISH


@pytest.fixture
def another(databases: DatabaseFactory, tmp_path: Path) -> Iterator[Another]:
    """Nodes of one database and home, as several processes would have them, with policy values of the test's own."""
    name = databases.make()
    made: list[Node] = []

    def build(**policy: str) -> Node:
        values = {f"CHOIR_POLICY__{key.upper()}": value for key, value in policy.items()}
        settings = load_settings({"home": str(tmp_path / "home")}, values)
        prepare_home(settings, SystemEntropy())
        dsn = databases.server.dsn("choir_app", name)
        prepare_database(settings, Dsns(dsn, databases.server.dsn("choir_owner", name)))
        made.append(build_node(settings, Database(dsn).open()))
        return made[-1]

    yield build
    for node in made:
        node.close()
    databases.drop(name)


def fund(node: Node, key: str, account: str = ADA) -> None:
    with node.unit_of_work() as tx:
        node.funding.open_accounts(tx, account)
        node.ledger.post(tx, node.funding.draft(account, 100, source="test", key=key))


def ask(node: Node) -> Snapshot | PublicationRequest:
    return node.database.run(node.liabilities.ask)


def task_row(node: Node) -> tuple[Any, ...] | None:
    with node.unit_of_work() as tx:
        return tx.row("select every_us, leased_until_us is not null, attempts from tasks where name = %s", PUBLISH)


def parts(node: Node) -> dict[str, set[UUID]]:
    tables = ("liability_tiles", "liability_pages", "liability_drafts")
    with node.unit_of_work() as tx:
        return {table: {row[0] for row in tx.rows(f"select distinct snapshot from {table}")} for table in tables}


def verify(node: Node) -> None:
    with node.unit_of_work() as tx:
        assert verify_database(tx, node.keys).differences == ()


def make_due(node: Node) -> None:
    with node.unit_of_work() as tx:
        assert tx.run("update tasks set due_us = %s where name = %s", node.clock.now_us(), PUBLISH) == 1


def sizes(node: Node) -> list[int]:
    with node.unit_of_work() as tx:
        return [row[0] for row in tx.rows("select size from liability_snapshots order by size")]


def test_it_is_said_as_often_as_policy_says_and_only_if_there_is_something_new(another: Another) -> None:
    node = another()
    fund(node, "first")
    schedule_repeating(node)
    with node.unit_of_work() as tx:
        due_us = tx.value("select due_us from tasks where name = %s", PUBLISH)
    assert due_us - node.clock.now_us() > 86_000 * MICROSECONDS, "not at every start"
    owing = LiabilityPublication(node)
    assert owing.scheduler.run_due() == 0
    make_due(node)
    assert owing.scheduler.run_due() == 1
    make_due(node)
    assert owing.scheduler.run_due() == 1
    assert sizes(node) == [1], "no entry was posted since"
    assert (node.settings.home / PUBLISHED).read_text().split("\n")[1] == "1"
    fund(node, "second")
    make_due(node)
    assert owing.scheduler.run_due() == 1
    assert sizes(node) == [1, 2]

    oftener = another(ledger__liabilities_every_s="10")
    schedule_repeating(oftener)
    with node.unit_of_work() as tx:
        every_us, due_us = tx.row("select every_us, due_us from tasks where name = %s", PUBLISH) or (0, 0)
    assert every_us == 10 * MICROSECONDS
    assert due_us <= node.clock.now_us() + every_us
    never = another(ledger__liabilities_every_s="0")
    schedule_repeating(never)
    assert task_row(node) is None
    fund(node, "third")
    assert isinstance(ask(never), PublicationRequest)
    assert task_row(node) == (None, False, 0)
    schedule_repeating(never)  # who restarts meanwhile does not forget what was asked for
    assert LiabilityPublication(never).scheduler.run_due() == 1
    assert sizes(node) == [1, 2, 3]
    assert task_row(node) is None
    asked = ask(never)
    assert isinstance(asked, Snapshot)
    assert asked.size == 3


def test_one_process_counts_at_a_time_and_nothing_that_was_asked_for_is_lost(
    another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, at_it, most = threading.Lock(), 0, 0

    def watched(*args: Any) -> Any:
        nonlocal at_it, most
        with lock:
            at_it += 1
            most = max(most, at_it)
        try:
            return count(*args)
        finally:
            with lock:
                at_it -= 1

    monkeypatch.setattr(service, "count", watched)
    nodes = [another(), another()]
    schedule_repeating(nodes[0])
    workers = [LiabilityPublication(node) for node in nodes]
    found: list[Snapshot | PublicationRequest] = []

    def operate(node: Node, who: int) -> None:
        for n in range(6):
            fund(node, f"{who} {n}")
            found.append(ask(node))

    operators = [threading.Thread(target=operate, args=(node, who)) for who, node in enumerate([*nodes, *nodes])]
    for worker in workers:
        worker.start()
    for thread in operators:
        thread.start()
    for thread in operators:
        thread.join(60)
    try:
        wanted = max(each.size for each in found)
        until(lambda: sizes(nodes[0])[-1:] >= [wanted])
    finally:
        for worker in workers:
            worker.stop()
    assert len(found) == 24
    assert most == 1
    assert parts(nodes[0])["liability_drafts"] == set()
    verify(nodes[0])


_KILLED = """
import os, signal, sys
from choir.foundation.settings import load_settings
from choir.node import build_node
from choir.ledger.liabilities.publication import LiabilityPublication
from choir.storage.database import Database

home, dsn, steps = sys.argv[1:]
left = iter(range(int(steps)))

def step():
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)

owing = LiabilityPublication(build_node(load_settings({"home": home}, {}), Database(dsn).open()))
owing._unless_stopping = step
owing.scheduler.run_due()
"""


def test_a_process_that_is_killed_at_it_leaves_nothing_and_another_takes_it_up(another: Another) -> None:
    node = another()
    fund(node, "first")
    fund(node, "other", BOB.replace("CREDIT", "SAT"))
    ask(node)
    owing = LiabilityPublication(node)
    for steps in (0, 2):  # while it counts; when some tiles are written
        command = [sys.executable, "-c", _KILLED, str(node.settings.home), node.database.conninfo, str(steps)]
        killed = subprocess.run(command, capture_output=True, check=False, timeout=60)
        assert killed.returncode == -9, killed.stderr.decode()
        assert owing.scheduler.run_due() == 0, "its lease is not over"
        assert task_row(node) == (None, True, 0)
        with node.unit_of_work() as tx:
            forget_leases(tx)  # as a node does that starts
    left = parts(node)
    assert len(left["liability_tiles"]) == len(left["liability_drafts"]) == 1
    assert sizes(node) == []
    assert owing.scheduler.run_due() == 1
    with node.unit_of_work() as tx:
        made = node.liabilities.latest(tx)
        assert made.size == queries.head(tx).seq
    assert parts(node) == {"liability_tiles": {made.id}, "liability_pages": {made.id}, "liability_drafts": set()}
    assert task_row(node) is None
    verify(node)


def test_a_process_that_stops_leaves_it_to_the_next_at_once(another: Another) -> None:
    node = another()
    fund(node, "first")
    ask(node)
    leaving = LiabilityPublication(node, stopping=lambda: True)
    assert leaving.scheduler.run_due() == 1
    assert sizes(node) == []
    assert LiabilityPublication(node).scheduler.run_due() == 1
    assert sizes(node) == [1]


def test_what_cannot_be_counted_is_told_to_who_asks(another: Another, monkeypatch: pytest.MonkeyPatch) -> None:
    node = another()
    fund(node, "first")
    owing = LiabilityPublication(node)
    ask(node)

    def missed(*_: object) -> None:
        raise NotAllCounted.of(Asset.CREDIT, 1, 0)

    with monkeypatch.context() as patched:
        patched.setattr(service, "count", missed)
        assert owing.scheduler.run_due() == 1
    with node.unit_of_work() as tx:
        assert "must add up to zero" in (node.liabilities.failure(tx) or "")
    asked = ask(node)
    assert isinstance(asked, PublicationRequest)
    assert "must add up to zero" in (asked.problem or "")
    assert owing.scheduler.run_due() == 1, "who asks need not wait until it is tried again by itself"
    assert sizes(node) == [1]
