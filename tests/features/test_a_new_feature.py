"""A feature says everything about itself in its own folder: nothing else in the house has to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from choir.doors import DOORS
from choir.doors.cli.main import command_line
from choir.doors.http.app import create_app
from choir.feature import load_features
from choir.features import FEATURES
from choir.foundation.clock import MICROSECONDS, SystemEntropy
from choir.foundation.policy import describe, load
from choir.foundation.settings import load_settings
from choir.identity.events import SIGNED_UP
from choir.node import Node, build_node
from choir.operations.background import Background
from choir.operations.home import operator_token, prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.policies import default_policy
from choir.storage.database import Database, connect
from choir.storage.identity import move_clock
from choir.storage.migrations import known_migrations, migrate
from tests.conftest import DatabaseFactory
from tests.features.notes.policy import NotesPolicy
from tests.features.notes.service import Notes

ALL = (*FEATURES, "tests.features.notes")
ALL_DOORS = (*DOORS, "tests.features.notes")
OWNER = "person:somebody"


@pytest.fixture
def node(databases: DatabaseFactory, database_name: str, tmp_path: Path) -> Iterator[Node]:
    app, owner = (databases.server.dsn(role, database_name) for role in ("choir_app", "choir_owner"))
    settings = load_settings({"home": str(tmp_path)}, {})
    prepare_home(settings, SystemEntropy())
    prepare_database(settings, Dsns(app, owner))
    with connect(owner, autocommit=True) as connection:
        assert [one.place for one in migrate(connection, "choir_app", known_migrations(ALL))] == [("notes", 1)]
    made = build_node(settings, Database(app).open(), features=ALL)
    yield made
    made.close()


def keep(node: Node, text: str = "milk") -> str:
    with node.unit_of_work() as tx:
        return f"note_{node.of(Notes).keep(tx, OWNER, text)}"


def test_its_services_are_found_by_their_type(node: Node) -> None:
    keep(node)
    with node.unit_of_work() as tx:
        assert node.of(Notes).count(tx) == 1


def test_its_work_is_done_and_its_events_are_handled(node: Node) -> None:
    background = Background(node)
    background.schedule()
    keep(node)
    with node.unit_of_work() as tx:
        node.outbox.announce(tx, SIGNED_UP, subject=OWNER, actor=OWNER, data={})
        move_clock(tx, node.identity, 120 * MICROSECONDS)
        tx.run("update notes set until_us = 0")
    background.hand_out()
    background.run_due()
    with node.unit_of_work() as tx:
        heard = {row[0].partition(" ")[0] for row in tx.rows("select subject from notes_heard")}
        assert heard == {"notes.note.kept", "identity.person.signed_up"}
        assert node.of(Notes).count(tx) == 0


def test_it_forgets_who_is_erased_and_explains_its_ids(node: Node) -> None:
    note = keep(node)
    with node.unit_of_work() as tx:
        told = node.explain(tx, note)
        assert told is not None
        assert told.sentences == [f"{note} is one of 1 notes."]
        node.forget(tx, OWNER)
        assert node.of(Notes).count(tx) == 0


def test_it_is_checked_and_counted(node: Node) -> None:
    keep(node)
    (notes,) = [feature for feature in node.features if feature.name == "notes"]
    assert notes.check_database is not None
    with node.unit_of_work() as tx:
        assert [found.told for found in notes.check_database(node.settings, tx)] == ["1 kept"]
        assert [(gauge.name, gauge.read(node, tx)) for gauge in notes.gauges] == [("choir_notes", 1)]


def test_its_numbers_are_policy(node: Node) -> None:
    values = {item.name: item.value for item in describe(load(default_policy(ALL), {"notes.keep_s": "5"}))}
    assert values["notes.keep_s"] == 5
    assert node.policy.of(NotesPolicy).keep_s == 60


def test_it_is_reached_over_http_and_has_a_page(node: Node) -> None:
    with TestClient(create_app(node, doors=ALL_DOORS), base_url="http://localhost") as client:
        headers = {"Authorization": f"Bearer {operator_token(node.settings.home)}"}
        made = client.post("/v1/notes", json={"text": "milk"}, headers=headers)
        assert (made.status_code, made.json()) == (201, {"notes": 1})
        assert client.post("/v1/notes", json={"text": "milk"}).status_code == 401
        assert "<p>1 notes</p>" in client.get("/notes").text
        assert "keep_note" in client.get("/v1/openapi.json").text
        assert client.get("/sign-in").status_code == 200  # the others are still there


def test_it_has_commands() -> None:
    run = partial(CliRunner().invoke, command_line(ALL_DOORS), prog_name="choir")
    assert "Keep notes." in run(["--help"]).output
    assert run(["note", "add", "milk"]).output == "milk\n"


def test_a_feature_comes_after_what_it_stands_on(node: Node) -> None:
    with pytest.raises(AssertionError, match="notes stands on"):
        build_node(node.settings, node.database, features=("tests.features.notes", *FEATURES))


def test_every_event_that_is_announced_is_declared_once() -> None:
    declared = [event for feature in load_features(ALL) for event in feature.events]
    assert len(set(declared)) == len(declared)
    assert all(event.doc.endswith(".") for event in declared)
