"""What agents report: calls with their results, thoughts and tokens; and nothing that a hostile report can break."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.contracts import TokenUsage
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader
from choir.bazaar.trajectories.lines import Said, Thought, ToolUse
from choir.bazaar.trajectories.reader import Trajectory
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers.reports import REPORTS, Report, tool_name
from choir.foundation.clock import SystemClock
from tests.bazaar.workers.scene import JOB, PUBLIC

POLICY = WorkersPolicy()
SECRET = "sk-0123456789-secret"


def told(kind: str, *pieces: bytes, file: bytes | None = None) -> tuple[Trajectory, Report]:
    """The trajectory that a report becomes, read strictly."""
    out = io.BytesIO()
    head = reader.header(JOB, PUBLIC, JobType.TEXT_GEN, "", SystemClock().now_us())
    writer = TrajectoryWriter(out, head, SystemClock(), POLICY, secrets=(SECRET,))
    report = REPORTS[kind](writer)
    for piece in pieces:
        report("stdout", piece)
    report.close(file)
    writer.end("done", report.usage.input_tokens, report.usage.output_tokens)
    return reader.parse(out.getvalue(), POLICY), report


def claude_lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def assistant(id_: str, *content: object, **usage: int) -> dict[str, object]:
    return {"type": "assistant", "message": {"id": id_, "content": list(content), "usage": usage}}


STREAM = claude_lines(
    {"type": "system", "subtype": "init", "tools": ["Read"]},
    assistant("m1", {"type": "thinking", "thinking": "Where?", "signature": "c2ln"}, input_tokens=5, output_tokens=1),
    assistant("m1", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}, input_tokens=5),
    {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": f"x = '{SECRET}'"}]},
    },
    assistant("m2", {"type": "text", "text": "Done."}, {"type": "tool_use", "id": "t2", "name": "Edit", "input": {}}),
    {"type": "result", "usage": {"input_tokens": 12, "output_tokens": 7, "cache_read_input_tokens": 3}},
)


def test_claude_codes_stream_is_calls_results_thoughts_and_tokens() -> None:
    for pieces in ((STREAM,), tuple(STREAM[at : at + 11] for at in range(0, len(STREAM), 11))):
        found, report = told("claude-code", *pieces)
        tools = [line for line in found.lines if isinstance(line, ToolUse)]
        assert [(line.tool, line.argument) for line in tools] == [("Read", '{"file_path": "a.py"}'), ("Edit", "{}")]
        assert (tools[0].result, tools[1].result) == ("x = '[withheld]'", "no result")
        thoughts = [line for line in found.lines if isinstance(line, Thought)]
        assert [(line.text, line.signature) for line in thoughts] == [("Where?", "c2ln")]
        assert [line.text for line in found.lines if isinstance(line, Said)] == ["Done."]
        assert report.usage == TokenUsage(12, 7, 3)


def test_a_stream_that_breaks_off_still_counts() -> None:
    _, report = told("claude-code", STREAM[: STREAM.index(b'{"type": "result"')])
    assert report.usage == TokenUsage(5, 0)


def test_minis_file_is_told_and_its_output_only_without_one() -> None:
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    messages = [
        {"role": "system", "content": "You are"},
        {
            "role": "assistant",
            "content": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [call],
            "extra": {"response": {"usage": usage}},
        },
        {"role": "tool", "tool_call_id": "c1", "content": "calc.py"},
        {"role": "exit", "content": "Submitted"},
    ]
    found, report = told("mini-swe-agent", b"noise\n", file=json.dumps({"messages": messages}).encode())
    assert [(line.tool, line.result) for line in found.lines if isinstance(line, ToolUse)] == [("bash", "calc.py")]
    assert [line.text for line in found.lines if isinstance(line, Thought)] == ["Hm."]
    assert [line.text for line in found.lines if isinstance(line, Said)] == ["I look.", "[exit] Submitted"]
    assert report.usage == TokenUsage(4, 4, 6)
    for broken in (None, b"{", b"[]", b'{"messages": 3}'):
        found, _ = told("mini-swe-agent", b"some ", b"noise\n", file=broken)
        assert [line.text for line in found.lines if isinstance(line, Said)] == ["some noise"]


def test_aiders_text_is_read_as_far_as_it_goes() -> None:
    text = b"Aider v0\n> THINKING\n--------\nhm\n> ANSWER\nSo:\nline\n"
    text += b"Tokens: 1.1k sent, 32 received.\nApplied edit to calc.py\n"
    found, report = told("aider", text, b"Tokens: 2M sent, 1,000 cache hit, 1.5k received. Cost: $1\n")
    assert [(line.tool, line.argument, line.result) for line in found.lines if isinstance(line, ToolUse)] == [
        ("Edit", "calc.py", "Applied edit to")
    ]
    assert report.usage == TokenUsage(2_001_100, 1_532)
    assert any("So:\nline" in line.text for line in found.lines if isinstance(line, Said))


@pytest.mark.parametrize("kind", REPORTS)
@given(data=st.binary(max_size=2_000) | st.text(max_size=500).map(str.encode))
def test_any_bytes_make_a_valid_trajectory(kind: str, data: bytes) -> None:
    told(kind, data, data, file=data)


@pytest.mark.parametrize("kind", ["claude-code", "mini-swe-agent"])
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "message", "content", "messages", "role", "tool_calls", "usage", "id", "input"]
                )
                | st.text(max_size=5),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_makes_a_valid_trajectory(kind: str, value: object) -> None:
    wrapped = [
        value,
        {"type": "assistant", "message": value},
        {"type": "assistant", "message": {"content": value, "usage": value}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": value, "content": value}]}},
        {"type": "result", "usage": value, "is_error": True, "result": value},
    ]
    file = json.dumps({"messages": [value, {"role": "assistant", "tool_calls": value, "content": value}]}).encode()
    told(kind, claude_lines(*wrapped), file=file)


def test_a_hostile_report_is_bounded() -> None:
    deep = b"[" * 200_000 + b"\n"
    flood = claude_lines(*(assistant(f"m{n}", {"type": "tool_use", "id": f"t{n}", "name": "X"}) for n in range(3_000)))
    endless = b'{"type": "assistant", ' + b"x" * 5_000_000
    found, report = told("claude-code", deep, flood, endless)
    assert len(found.lines) > 2_000
    assert report.usage == TokenUsage()
    huge = claude_lines({"type": "result", "usage": {"input_tokens": 10**30, "output_tokens": -5}})
    assert told("claude-code", huge)[1].usage == TokenUsage(10**12, 0)
    for name in ("", "→", "a b\nc", "x" * 500, "1", "é"):
        assert tool_name(name)[0].isalpha()
        assert len(tool_name(name)) <= 64
