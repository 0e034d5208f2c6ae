"""What agents say about their own work, put into the trajectory: tool calls with results, thoughts, tokens.

Each agent has its own way: Claude Code prints a JSON object per line (`--output-format stream-json`), mini-swe-agent
writes a file when it ends, aider prints text. Whatever is not understood is told as plain output.

Guarantees: an agent's report decides nothing, and no report of any size or shape makes the worker fail; what is held of
it in memory is bounded; a call is told with the result that the agent named for it, or with the words that there was
none.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from choir.bazaar.contracts import TokenUsage
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers.use import add

REPORT_BYTES_MAX = 16_000_000  # of a report that comes as a file
_LINE_BYTES_MAX = 2_000_000  # of one line; a longer one is told as plain output
_PENDING_MAX = 1_000  # calls without a result
_HELD_LINES = 200  # of the output of an agent that reports by file
_GROUP_CHARS = 3_000
_NOT_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_TOKENS_MAX = 10**12
_NO_RESULT = "no result"


class Report(Protocol):
    """Takes an agent's output as it comes."""

    usage: TokenUsage  # as the agent counted it

    def __call__(self, stream: str, piece: bytes) -> None: ...

    def close(self, file: bytes | None = None) -> None:
        """The agent has ended; `file` is what it wrote as its report, if it writes one."""
        ...


class PlainReport:
    """Every line as it is."""

    def __init__(self, trajectory: TrajectoryWriter) -> None:
        self.usage = TokenUsage()
        self._lines = trajectory.output()

    def __call__(self, stream: str, piece: bytes) -> None:
        self._lines(stream, piece)

    def close(self, file: bytes | None = None) -> None:  # noqa: ARG002
        self._lines.close()


class _Calls:
    """Calls of tools, until their results come."""

    def __init__(self, trajectory: TrajectoryWriter) -> None:
        self._trajectory = trajectory
        self._open: dict[str, tuple[str, str]] = {}

    def begin(self, id_: str, name: str, argument: str) -> None:
        if len(self._open) >= _PENDING_MAX:
            self._tell(*self._open.pop(next(iter(self._open))), _NO_RESULT)
        self._open[id_] = (name, argument)

    def end(self, id_: str, result: str) -> None:
        self._tell(*self._open.pop(id_, ("Unknown", id_)), result)

    def close(self) -> None:
        for name, argument in self._open.values():
            self._tell(name, argument, _NO_RESULT)
        self._open.clear()

    def _tell(self, name: str, argument: str, result: str) -> None:
        self._trajectory.tool(tool_name(name), argument, result)


class StreamJson:
    """Claude Code: a message per line, each block of it a text, a thought, a call or a result."""

    def __init__(self, trajectory: TrajectoryWriter) -> None:
        self.usage = TokenUsage()
        self._trajectory = trajectory
        self._plain = trajectory.output()
        self._calls = _Calls(trajectory)
        self._open = b""
        self._by_message: dict[str, TokenUsage] = {}

    def __call__(self, stream: str, piece: bytes) -> None:
        if stream != "stdout":
            self._plain(stream, piece)
            return
        *whole, self._open = (self._open + piece).split(b"\n")
        for line in whole:
            self._line(line)
        if len(self._open) > _LINE_BYTES_MAX:
            self._plain(stream, self._open)
            self._open = b""

    def close(self, file: bytes | None = None) -> None:  # noqa: ARG002
        self._line(self._open)
        self._open = b""
        self._calls.close()
        self._plain.close()
        if self.usage == TokenUsage():  # it ended before it summed up
            for one in self._by_message.values():
                self.usage = add(self.usage, one)

    def _line(self, line: bytes) -> None:
        value = read_json(line)
        if not isinstance(value, dict):
            self._plain("stdout", line + b"\n")
            return
        message = as_dict(value.get("message"))
        kind = value.get("type")
        if kind == "assistant":
            self._count(message)
            for block in blocks(message.get("content")):
                self._said(block)
        elif kind == "user":
            for block in blocks(message.get("content")):
                if block.get("type") == "tool_result":
                    self._calls.end(text(block.get("tool_use_id")), flat(block.get("content")))
        elif kind == "result":
            self.usage = anthropic_usage(as_dict(value.get("usage")))
            if value.get("is_error"):
                self._trajectory.answer(f"[error] {flat(value.get('result'))}")

    def _said(self, block: dict[str, Any]) -> None:
        kind = block.get("type")
        if kind == "text":
            self._trajectory.answer(text(block.get("text")))
        elif kind == "thinking":
            self._trajectory.thought(text(block.get("thinking")), text(block.get("signature")))
        elif kind == "tool_use":
            self._calls.begin(text(block.get("id")), text(block.get("name")), written(block.get("input")))

    def _count(self, message: dict[str, Any]) -> None:
        """A message comes once per block, with what was used until then."""
        if len(self._by_message) < _PENDING_MAX:
            self._by_message[text(message.get("id"))] = anthropic_usage(as_dict(message.get("usage")))


class MiniFile:
    """mini-swe-agent: the conversation in a file; its output only if there is none."""

    def __init__(self, trajectory: TrajectoryWriter) -> None:
        self.usage = TokenUsage()
        self._trajectory = trajectory
        self._last: deque[tuple[str, bytes]] = deque(maxlen=_HELD_LINES)

    def __call__(self, stream: str, piece: bytes) -> None:
        self._last.append((stream, piece))

    def close(self, file: bytes | None = None) -> None:
        value = None if file is None else read_json(file)
        messages = as_dict(value).get("messages")
        if not isinstance(messages, list):
            plain = self._trajectory.output()
            for stream, piece in self._last:
                plain(stream, piece)
            plain.close()
            return
        calls = _Calls(self._trajectory)
        for message in messages:
            self._message(as_dict(message), calls)
        calls.close()

    def _message(self, message: dict[str, Any], calls: _Calls) -> None:
        role = message.get("role")
        if role == "assistant":
            extra = as_dict(message.get("extra"))
            self.usage = add(self.usage, openai_usage(as_dict(as_dict(extra.get("response")).get("usage"))))
            if thought := message.get("reasoning_content"):
                self._trajectory.thought(flat(thought))
            if said := flat(message.get("content")):
                self._trajectory.answer(said)
            for call in blocks(message.get("tool_calls")):
                function = as_dict(call.get("function"))
                calls.begin(text(call.get("id")), text(function.get("name")), written(function.get("arguments")))
        elif role == "tool":
            calls.end(text(message.get("tool_call_id")), flat(message.get("content")))
        elif role == "exit":
            self._trajectory.answer(f"[exit] {flat(message.get('content'))}")


class AiderText:
    """aider: text, with a line for each edit and for the tokens of each answer."""

    _TOKENS = re.compile(
        r"Tokens: ([0-9.,]+[kM]?) sent(?:, [0-9.,]+[kM]? cache (?:hit|write))*, ([0-9.,]+[kM]?) received"
    )
    _EDIT = re.compile(r"(Applied edit to|Did not apply edit to|Creating empty file|Failed to apply edit to) (.+)")

    def __init__(self, trajectory: TrajectoryWriter) -> None:
        self.usage = TokenUsage()
        self._trajectory = trajectory
        self._open: dict[str, bytes] = {}
        self._group: list[str] = []
        self._thinking = False

    def __call__(self, stream: str, piece: bytes) -> None:
        *whole, rest = (self._open.get(stream, b"") + piece).split(b"\n")
        if len(rest) > _LINE_BYTES_MAX:
            whole, rest = [*whole, rest], b""
        self._open[stream] = rest
        for line in whole:
            self._line(line.decode("utf-8", "surrogateescape"))

    def close(self, file: bytes | None = None) -> None:  # noqa: ARG002
        for rest in self._open.values():
            self._line(rest.decode("utf-8", "surrogateescape"))
        self._open.clear()
        self._flush()

    def _line(self, line: str) -> None:
        if found := self._TOKENS.search(line[:500]):
            self._flush()
            self.usage = add(self.usage, TokenUsage(_short_number(found[1]), _short_number(found[2])))
        elif found := self._EDIT.match(line[:2_000]):
            self._flush()
            self._trajectory.tool("Edit", found[2], found[1])
        elif "THINKING" in line[:40] and line.lstrip(" -►*").startswith("THINKING"):
            self._flush()
            self._thinking = True
        elif self._thinking and "ANSWER" in line[:40]:
            self._flush()
            self._thinking = False
        elif line.strip():
            self._group.append(line)
            if sum(map(len, self._group)) > _GROUP_CHARS:
                self._flush()

    def _flush(self) -> None:
        if self._group:
            tell = self._trajectory.thought if self._thinking else self._trajectory.answer
            tell("\n".join(self._group))
            self._group = []


REPORTS: dict[str, Callable[[TrajectoryWriter], Report]] = {
    "": PlainReport,
    "claude-code": StreamJson,
    "mini-swe-agent": MiniFile,
    "aider": AiderText,
}
REPORT_FILES = {"mini-swe-agent": "traj.json"}  # below the workspace


# --- strangers' JSON ----------------------------------------------------------------------------------


def read_json(data: bytes) -> Any:
    """A value, or None for whatever is not one."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def tool_name(name: str) -> str:
    """A name that a trajectory can hold."""
    plain = _NOT_NAME.sub("_", name)[:64]
    return plain if plain[:1].isalpha() and plain[:1].isascii() else f"x{plain}"[:64]


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def blocks(value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; a text alone is a block too."""
    if isinstance(value, str):
        yield {"type": "text", "text": value}
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def flat(value: Any) -> str:
    """A content as text."""
    if value is None or isinstance(value, str):
        return value or ""
    parts = [text(block.get("text")) for block in blocks(value)]
    return "\n".join(part for part in parts if part) or written(value)


def written(value: Any) -> str:
    """A call's arguments as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "?"


def anthropic_usage(value: dict[str, Any]) -> TokenUsage:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return TokenUsage(*(number(value.get(name)) for name in names))


def openai_usage(value: dict[str, Any]) -> TokenUsage:
    read = number(value.get("prompt_tokens"))
    cached = min(read, number(as_dict(value.get("prompt_tokens_details")).get("cached_tokens")))
    return TokenUsage(read - cached, number(value.get("completion_tokens")), cached)


def number(value: Any) -> int:
    return min(value, _TOKENS_MAX) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _short_number(word: str) -> int:
    """`1.1k` as people write it."""
    factor = {"k": 1_000, "M": 1_000_000}.get(word[-1:], 1)
    try:
        return min(round(float(word.rstrip("kM").replace(",", "")) * factor), _TOKENS_MAX)
    except ValueError:
        return 0
