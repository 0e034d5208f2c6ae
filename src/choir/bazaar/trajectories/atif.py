"""A trajectory as ATIF (Agent Trajectory Interchange Format, v1.8), for tools that read that and not `rlog/1`.

What is in the one is in the other, and nothing else: a line is a step, thoughts stand with the step that they led to,
a tool's use has its argument and its result with the result's hash. Times, job and provider are kept.

Guarantees: the export is made of a trajectory that was read and checked; each tool's call and its result have the same
id; what ATIF has no field for stands under `extra`, and lines that the writer left out are said in the notes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from choir.bazaar.trajectories.lines import FORMAT, End, Line, Said, Start, Thought, ToolUse, Voice, text_digest
from choir.bazaar.trajectories.reader import Trajectory
from choir.foundation.clock import format_time

SCHEMA_VERSION = "ATIF-v1.8"
AGENT = "choir-provider"


def export(found: Trajectory) -> dict[str, Any]:
    """An ATIF document as JSON values."""
    head, end = found.header, found.end
    made: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "session_id": head.id,
        "trajectory_id": found.hash,
        "agent": {"name": AGENT, "version": FORMAT, "extra": {"provider_pubkey": head.provider_pubkey}},
        "steps": _steps(found.lines),
        "final_metrics": {
            "total_prompt_tokens": end.tokens_in,
            "total_completion_tokens": end.tokens_out,
            "extra": {"summary": end.summary},
        },
        "extra": {
            "job_type": head.job_type,
            "repo_sha": head.repo_sha,
            "started_at": format_time(head.started_us),
            **({} if end.at_us is None else {"ended_at": format_time(end.at_us)}),
        },
    }
    made["final_metrics"]["total_steps"] = len(made["steps"])
    if end.omitted:
        made["notes"] = f"{end.omitted} lines of the trajectory were left out by its writer, because of its limits."
    return made


def to_bytes(found: Trajectory) -> bytes:
    """The document as a file."""
    return json.dumps(export(found), ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def _steps(lines: Sequence[Line]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    thoughts: list[Thought] = []
    for line in lines:
        if isinstance(line, Thought):
            thoughts.append(line)
        elif isinstance(line, Said) and line.voice is Voice.USER:
            steps += _alone(thoughts)  # a thought is the agent's, and no step of a user can hold it
            steps.append({"source": "user", "message": line.text, **_at(line.at_us)})
        elif isinstance(line, Said):
            steps.append({"source": "agent", "message": line.text, **_at(line.at_us), **_thought(thoughts)})
        elif isinstance(line, ToolUse):
            steps.append(_tool(line) | _thought(thoughts))
        else:
            assert isinstance(line, Start | End)
    steps += _alone(thoughts)
    return [{"step_id": number, **step} for number, step in enumerate(steps, 1)]


def _tool(line: ToolUse) -> dict[str, Any]:
    result = {
        "source_call_id": line.id,
        "content": line.result,
        "extra": {"sha256": line.sha256 or text_digest(line.result)},
    }
    call = {"tool_call_id": line.id, "function_name": line.tool, "arguments": _arguments(line.argument)}
    return {
        "source": "agent",
        "message": "",
        "tool_calls": [call],
        "observation": {"results": [result]},
        **_at(line.at_us),
    }


def _arguments(text: str) -> dict[str, Any]:
    """Arguments that are an object as that; others by one name."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"argument": text}


def _thought(thoughts: list[Thought]) -> dict[str, Any]:
    """The thoughts until now, which are used up by this."""
    if not thoughts:
        return {}
    found: dict[str, Any] = {"reasoning_content": "\n\n".join(item.text for item in thoughts)}
    signatures = [item.signature for item in thoughts if item.signature]
    if signatures:
        found["extra"] = {"signatures": signatures}
    thoughts.clear()
    return found


def _alone(thoughts: list[Thought]) -> list[dict[str, Any]]:
    """Thoughts that nothing followed."""
    if not thoughts:
        return []
    at = _at(thoughts[-1].at_us)
    return [{"source": "agent", "message": "", **at, **_thought(thoughts)}]


def _at(at_us: int | None) -> dict[str, str]:
    return {} if at_us is None else {"timestamp": format_time(at_us)}
