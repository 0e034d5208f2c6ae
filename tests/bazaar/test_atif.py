"""ATIF says what `rlog/1` says, in a shape that ATIF's own models accept."""

from __future__ import annotations

import io
import json

import pytest

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import atif, reader
from choir.bazaar.trajectories.reader import Trajectory
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.foundation.clock import SystemClock
from tests.bazaar.workers.scene import JOB, PUBLIC

POLICY = WorkersPolicy(trajectory_lines_max=12)


def recorded(lines: int = 0) -> Trajectory:
    out = io.BytesIO()
    head = reader.header(JOB, PUBLIC, JobType.PATCH_GEN, "ab" * 20, SystemClock().now_us())
    writer = TrajectoryWriter(out, head, SystemClock(), POLICY)
    writer.thought("Before anybody asked.")
    writer.user("Fix it, → quickly.")
    writer.thought("Where?", "c2ln")
    writer.thought("There.")
    writer.tool("Edit", '{"file": "a.py"}', b"caf\xff\n")
    writer.tool("Bash", "ls -la", "a.py")
    writer.answer("Done.")
    for _ in range(lines):
        writer.answer("more")
    writer.thought("And now?")
    writer.end("changed 1 file", 40, 2)
    return reader.parse(out.getvalue(), POLICY)


def test_what_is_in_the_one_is_in_the_other() -> None:
    found = recorded()
    models = pytest.importorskip("atif", reason="PyPI's atif, which checks the export, is not installed")
    document = json.loads(atif.to_bytes(found))
    checked = models.Trajectory.model_validate(document)  # unknown fields are errors there
    assert checked.to_json_dict() == document
    assert (document["session_id"], document["trajectory_id"]) == (JOB, found.hash)
    steps = document["steps"]
    assert [step["source"] for step in steps] == ["agent", "user", "agent", "agent", "agent", "agent"]
    assert steps[0]["reasoning_content"] == "Before anybody asked."
    assert steps[1]["message"] == "Fix it, → quickly."
    assert steps[2]["reasoning_content"] == "Where?\n\nThere."
    assert steps[2]["extra"] == {"signatures": ["c2ln"]}
    (call,) = steps[2]["tool_calls"]
    (result,) = steps[2]["observation"]["results"]
    assert (call["function_name"], call["arguments"]) == ("Edit", {"file": "a.py"})
    assert result["source_call_id"] == call["tool_call_id"]
    assert len(result["extra"]["sha256"]) == 64
    assert steps[3]["tool_calls"][0]["arguments"] == {"argument": "ls -la"}
    assert (steps[4]["message"], steps[5]["reasoning_content"]) == ("Done.", "And now?")
    assert document["final_metrics"] == {
        "total_prompt_tokens": 40, "total_completion_tokens": 2, "total_steps": 6,
        "extra": {"summary": "changed 1 file"},
    }  # fmt: skip
    assert "notes" not in document


def test_what_was_left_out_is_said() -> None:
    assert atif.export(recorded(lines=10))["notes"].startswith("8 lines of the trajectory were left out")
