"""A provider of texts: any OpenAI-compatible address, an order that is paid, and limits that outlive a restart."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doors.mesh.processes import lines_of, qualified
from tests.doors.townsfolk import public_node
from tests.model_server import CACHED_TOKENS, INPUT_TOKENS, MODEL_KEY, OUTPUT_TOKENS, Asked, Turn, playing
from tests.operations.nodes import CHOIR, NodeUnderTest, until

pytestmark = pytest.mark.slow
EACH = INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS
QUICK = {"CHOIR_POLICY__PROVIDERS__HEARTBEAT_S": "3"}


def script(asked: Asked) -> Turn:
    """Qualifies, and answers the order wrongly at first."""
    text = asked.text
    if found := re.search(r"which is the text ([0-9a-f]+)", text):
        return Turn(json.dumps({"echo": found[1], "text": "A sentence about any subject."}))
    return Turn('{"greeting": "Good morning"}') if asked.turns else Turn("Good morning")


@contextmanager
def serving_texts(node: NodeUnderTest, home: Path, endpoint: str, **limits: str) -> Iterator[Path]:
    said = home.with_suffix(".said")
    command = ["provider", "serve", "--json", "--worker", "text", "--endpoint", endpoint, "--model", "scripted-1"]
    environment = node.environment | {"THE_KEY": MODEL_KEY} | limits
    with said.open("w") as out:
        process = subprocess.Popen(
            [*CHOIR, *command, "--key-env", "THE_KEY", "--provider-home", str(home)],
            env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield said
        assert process.poll() is None or limits, said.read_text()
    finally:
        process.kill()
        process.wait(30)


def test_a_text_is_ordered_shaped_paid_and_counted(tmp_path: Path) -> None:
    home = tmp_path / "provider"
    schema = tmp_path / "schema.json"
    schema.write_text(
        json.dumps({"type": "object", "properties": {"greeting": {"type": "string"}}, "required": ["greeting"]})
    )
    with playing(script) as server, public_node(**QUICK) as node:
        with serving_texts(node, home, f"{server.url}/v1") as said:
            until(lambda: qualified(said) == 1, 120)
            order = ("job", "submit", "text", "Greet me.", "--schema", str(schema), "--timeout", "60", "--json")
            done = node.run(*order)
            assert done.code == 0, (done, said.read_text())
            job = done.json["job"]["id"]
            assert json.loads(node.run("job", "result", job).out) == {"greeting": "Good morning"}
            rlog = node.run("job", "trajectory", job).out
            assert f"tokens_in={2 * (INPUT_TOKENS + CACHED_TOKENS)} tokens_out={2 * OUTPUT_TOKENS} " in rlog
            used = json.loads((home / "model-use.json").read_text())
            assert used["tokens"] == 3 * EACH  # one for its qualification
            assert used["jobs"][job] == [2 * EACH, 0]
        # the next process goes on with the same day, and says why it takes nothing
        limit = {"CHOIR_POLICY__WORKERS__MODEL_TOKENS_DAY_MAX": str(3 * EACH)}
        with serving_texts(node, home, f"{server.url}/v1", **limit) as again:
            until(lambda: "tokens per day is reached" in again.read_text(), 60)
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {MODEL_KEY}"}
        shown = [done.out, done.err, rlog, said.read_text(), node.said, *(asked.text for asked in server.asked)]
        assert all(MODEL_KEY not in text for text in shown)
        assert lines_of(said)
