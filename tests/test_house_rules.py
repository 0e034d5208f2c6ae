"""Rules of the house that no linter knows: where SQL may stand, and how doors reach the database.

They are read off the code's syntax. An exception names its file and says why; one that nobody needs any more fails too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import choir

SOURCE = Path(choir.__file__).parent

WITHOUT_SQL = {"savepoint", "wake"}  # what anybody may ask of a `Tx`
SQL_ELSEWHERE = {
    "doors/http/app.py": "the check of readiness asks whether the database answers at all, and reads no table",
}

HOLDERS = {"database", "_database"}  # attributes that are a `Database`
OWN_TRANSACTIONS = {"unit_of_work", "statements", "dedicated", "aside"}
OWN_CONNECTIONS = {"Database", "connect"}  # of choir.storage.database
DATABASE_ELSEWHERE = {
    "doors/http/worker.py": "makes the process: its database, the node on it, and the streams",
    "doors/http/app.py": "makes the streams, which own what they read with",
    "doors/relay/hub.py": "listens on a connection of its own for as long as the process serves the relay",
    "doors/http/streams.py": "reads in threads of its own for as long as streams last, past any request",
    "doors/ledger/commands/files.py": "verifies, exports and imports whole ledgers: hours on one connection of its own",
}


def _modules(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    for package in packages:
        for file in sorted((SOURCE / package).rglob("*.py")):
            yield file.relative_to(SOURCE).as_posix(), ast.parse(file.read_text())


def _is_store(name: str) -> bool:
    return name.endswith(("/store.py", "_store.py"))


def _transactions(module: ast.Module) -> set[str]:
    """Names that stand for a transaction: what it is always called, and what else is annotated as one."""
    arguments = (node for node in ast.walk(module) if isinstance(node, ast.arg))
    return {"tx"} | {one.arg for one in arguments if isinstance(one.annotation, ast.Name) and one.annotation.id == "Tx"}


def _sql(module: ast.Module) -> list[int]:
    """Lines that ask a transaction for anything but what goes without SQL."""
    known = _transactions(module)
    return [
        node.lineno
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in known
        and node.attr not in WITHOUT_SQL
    ]


def _database(module: ast.Module) -> list[int]:
    """Lines that reach the database by another way than `node.read()` and `node.write(…)`.

    `settled(node.database, …)` is `node.write` for tries whose failure must be remembered.
    """
    nodes = [node for node in ast.walk(module) if isinstance(node, ast.expr | ast.stmt)]
    given = {id(node.args[0]) for node in nodes if _is_settled(node)}
    return [node.lineno for node in nodes if id(node) not in given and _reaches_database(node)]


def _is_settled(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "settled"


def _reaches_database(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in HOLDERS | OWN_TRANSACTIONS
    if isinstance(node, ast.ImportFrom):
        return node.module == "choir.storage.database" and any(one.name in OWN_CONNECTIONS for one in node.names)
    return False


def _broken(found: dict[str, list[int]], excepted: dict[str, str]) -> list[str]:
    return [f"{name}:{line}" for name, lines in found.items() if name not in excepted for line in lines]


def test_sql_stands_in_stores_alone() -> None:
    """If this fails: move the statement into the `store.py` beside it, as a function of `tx` and plain arguments."""
    found = {
        name: _sql(module)
        for name, module in _modules("bazaar", "commons", "treasury", "identity", "relay", "doors")
        if not _is_store(name)
    }
    assert _broken(found, SQL_ELSEWHERE) == []
    assert [name for name in SQL_ELSEWHERE if not found[name]] == []


def test_doors_have_no_stores() -> None:
    assert [name for name, _ in _modules("doors") if _is_store(name)] == []


def test_doors_reach_the_database_through_the_node_alone() -> None:
    """If this fails: read with `node.read()` and write with `node.write(…)`."""
    found = {name: _database(module) for name, module in _modules("doors")}
    assert _broken(found, DATABASE_ELSEWHERE) == []
    assert [name for name in DATABASE_ELSEWHERE if not found[name]] == []


@pytest.mark.parametrize(
    "text",
    [
        "tx.run('delete from jobs')",
        "def f(other: Tx): return other.rows('select 1')",
        "tx.connection.execute('select 1')",
    ],
)
def test_sql_is_found(text: str) -> None:
    assert _sql(ast.parse(text)) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "with node.unit_of_work() as tx: pass",
        "node.database.run(work)",
        "self._database.statements()",
        "settled(other, node.database)",
        "from choir.storage.database import Tx, connect",
    ],
)
def test_other_ways_to_the_database_are_found(text: str) -> None:
    assert set(_database(ast.parse(text))) == {1}


@pytest.mark.parametrize(
    "text",
    [
        "with node.read() as tx: jobs.get(tx, id_)",
        "node.write(lambda tx: jobs.cancel(tx, id_))",
        "settled(node.database, work)",
        "from choir.storage.database import Tx",
        "tx.wake(FREE)",
    ],
)
def test_what_the_rules_allow_is_not_found(text: str) -> None:
    module = ast.parse(text)
    assert (_sql(module), _database(module)) == ([], [])
