"""Two provider processes at one node: a race between them, and a text by a worker that is a command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.settlement import pricing
from tests.doors.mesh.processes import lines_of, serving
from tests.doors.townsfolk import public_node
from tests.operations.nodes import NodeUnderTest, until

pytestmark = pytest.mark.slow

FORM_FILLER = Path(__file__).parents[3] / "examples/workers/form_filler.toml"


@dataclass
class Stage:
    """A node with two providers that run; the second one writes texts too."""

    node: NodeUnderTest
    folder: Path
    rival: Path  # what the second one prints


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    with (
        public_node() as node,
        serving(node, folder / "first", "run"),
        serving(node, folder / "second", "run", str(FORM_FILLER)) as rival,
    ):
        yield Stage(node, folder, rival)


@pytest.mark.deep
def test_a_race_of_two_processes_pays_one(stage: Stage) -> None:
    """Who is first is up to the machine; that there is one, and where the money is, is not."""
    node = stage.node
    assert node.run("job", "ls").code == 0  # whoever asks first stands there as a buyer
    buyer = node.run("whoami", "--json").json["buyer"]
    account = f"agent:{buyer.removeprefix('agent_')}/available/SAT"

    def balance() -> int:
        return int(node.run("ledger", "balance", account, "--json").json["balance"])

    with node.client() as operator:
        operator.fund(account, 10_000_000)  # so that the order itself brings no play money
    before = balance()
    command = ("sh", "-c", "sleep 1; echo first")
    done = node.run("job", "submit", "run", "--race", "2", "--timeout", "90", "--json", "--", *command)
    assert done.code == 0, done.err
    job = done.json["job"]["id"]
    assert done.json["artifact"]["stdout"] == "first\n"

    def found() -> Any:
        return node.run("job", "show", job, "--json").json

    until(lambda: found()["job"]["closed_at"] is not None, 60)
    shown = found()["job"]
    assert len({item["provider"] for item in shown["attempts"]}) == 2
    (won,) = [item for item in shown["attempts"] if item["id"] == shown["winner"]]
    (other,) = [item for item in shown["attempts"] if item["id"] != shown["winner"]]
    assert (won["state"], won["reason"]) == ("passed", "")
    assert other["state"] in ("lost", "cancelled")
    assert other["reason"] == "bazaar.another_was_first"
    assert "another provider was first" in node.run("job", "show", job).out
    due = 0
    if other["state"] == "lost":  # it had handed in before it was told, and passed
        verdict = found()["verdicts"][other["id"]]
        terms = pricing.Terms(int(other["base"]), int(other["per_unit"]), int(other["cap"]))
        due = pricing.price(terms, int(verdict["units_milli"]), int(other["ceiling"])) // 10
    assert int(other["paid"]) == due
    assert int(won["paid"]) == int(shown["price"]) > 0

    assert shown["held"] == "0"
    assert before - balance() == int(won["paid"]) + due
    assert node.run("ledger", "trial-balance", "--json").json["balanced"] is True


def test_a_text_is_written_by_a_command_and_paid(stage: Stage) -> None:
    """From the command line to the receipt, by a worker process in its sandbox that fills the order's schema."""
    node = stage.node
    fields = {
        "name": {"type": "string", "maxLength": 20},
        "born": {"type": "integer", "minimum": 1800},
        "trades": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    }
    schema = stage.folder / "schema.json"
    schema.write_text(json.dumps({"type": "object", "properties": fields, "required": ["name", "born", "trades"]}))
    prompt = "name: Ada\nborn: 1815\ntrades: writing, counting"
    done = node.run("job", "submit", "text", prompt, "--schema", str(schema), "--timeout", "90", "--json")
    assert done.code == 0, done.err
    text = json.loads(done.json["artifact"])
    assert text == {"name": "Ada", "born": 1815, "trades": ["writing", "counting"]}
    receipt = done.json["receipt"]["value"]
    assert (receipt["action"], receipt["outcome"]) == ("bazaar.text_gen", "passed")
    assert receipt["spent"]["amount"] == done.json["price"]
    assert int(done.json["price"]) > 0
    job = done.json["job"]["id"]
    checked = node.run("job", "verify", job)
    assert checked.code == 0, checked
    assert "the node's verdict is confirmed" in checked.out
    told = [line["event"] for line in lines_of(stage.rival) if line.get("job") == job]
    assert {"taken", "started", "handed_in"} <= set(told)
