"""A model's server that plays a script, over the two protocols that agents speak.

It stands in for what cannot be had: a model. Agents, proxy and sandbox in front of it are real. It speaks Anthropic's
messages and OpenAI's chat completions, whole and streamed, with the arguments of tools in small pieces, with usage
numbers, and with one 429 before its first answer. The step to play is the number of turns that the conversation in the
request holds, so that agents may ask again. Whoever does not bring the key is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL_KEY = "sk-scripted-0123456789-never-shown"
INPUT_TOKENS, OUTPUT_TOKENS, CACHED_TOKENS = 120, 34, 16  # of every answer
_PIECE = 7  # characters of a streamed piece


@dataclass(frozen=True)
class Turn:
    """What the model says in one turn, and the tool that it calls."""

    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    thought: str = ""


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return json.dumps(self.body)

    @property
    def tools(self) -> list[str]:
        named = self.body.get("tools") or []
        return [item.get("name") or item.get("function", {}).get("name", "") for item in named]

    @property
    def turns(self) -> int:
        """How many turns of the model came before: each is followed by a result or an answer."""
        return sum(1 for message in self.body.get("messages", []) if message.get("role") == "assistant")


Script = Callable[[Asked], Turn]


def in_order(turns: Sequence[Turn], needs_tools: bool = True) -> Script:
    """Plays turns one after the other; who asks without tools (for a title, say) gets a word."""

    def play(asked: Asked) -> Turn:
        if needs_tools and not asked.tools:
            return Turn("Ok.")
        return turns[min(asked.turns, len(turns) - 1)]

    return play


class ModelServer:
    """The server on a port of its own; `asked` has every request that came."""

    def __init__(self, script: Script, refusals: int = 1, key: str = MODEL_KEY) -> None:
        self.asked: list[Asked] = []
        self.unknown: list[str] = []
        self._script = script
        self._key = key
        self._refusals = refusals
        self._lock = threading.Lock()
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def judge(self, asked: Asked) -> tuple[int, str]:
        """The status of an answer, and why."""
        with self._lock:
            self.asked.append(asked)
            given = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer ")
            if given != self._key:
                return 401, "invalid key"
            if self._refusals > 0:
                self._refusals -= 1
                return 429, "slow down"
        return 200, ""

    def turn(self, asked: Asked) -> Turn:
        return self._script(asked)


@contextmanager
def playing(script: Script, refusals: int = 1, key: str = MODEL_KEY) -> Iterator[ModelServer]:
    server = ModelServer(script, refusals, key)
    try:
        yield server
    finally:
        server.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: ModelServer

    def log_message(self, *_: object) -> None:
        return

    def do_HEAD(self) -> None:
        self._whole(200, {})

    def do_GET(self) -> None:
        self._whole(200, {"object": "list", "data": [{"id": "scripted-1", "object": "model"}]})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        data = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = Asked(path, headers, json.loads(data or b"{}"))
        except ValueError:
            self._whole(400, {"error": {"type": "bad", "message": "not JSON"}})
            return
        answer = {
            "/v1/messages": _anthropic,
            "/v1/chat/completions": _openai,
            "/v1/messages/count_tokens": None,
        }
        if path not in answer:
            self.server_of.unknown.append(path)
            self._whole(404, {"error": {"type": "not_found_error", "message": path}})
            return
        make = answer[path]
        if make is None:
            self._whole(200, {"input_tokens": INPUT_TOKENS})
            return
        status, why = self.server_of.judge(asked)
        if status != 200:
            kind = "rate_limit_error" if status == 429 else "authentication_error"
            self._whole(status, {"type": "error", "error": {"type": kind, "message": why}})
            return
        whole, pieces = make(asked, self.server_of.turn(asked))
        if asked.body.get("stream"):
            self._stream(pieces)
        else:
            self._whole(200, whole)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _whole(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, pieces: Sequence[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


# --- Anthropic's messages -----------------------------------------------------------------------------


def _anthropic(asked: Asked, turn: Turn) -> tuple[dict[str, Any], list[str]]:
    blocks: list[dict[str, Any]] = []
    if turn.thought and "thinking" in asked.body:
        blocks.append({"type": "thinking", "thinking": turn.thought, "signature": "c2lnbmVk"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    if turn.tool:
        id_ = f"toolu_{asked.turns + 1:04d}"
        blocks.append({"type": "tool_use", "id": id_, "name": turn.tool, "input": turn.arguments})
    usage = {
        "input_tokens": INPUT_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
        "cache_read_input_tokens": CACHED_TOKENS,
        "cache_creation_input_tokens": 0,
    }
    message = {
        "id": f"msg_{len(asked.body.get('messages', [])):04d}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", ""),
        "content": blocks,
        "stop_reason": "tool_use" if turn.tool else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
    return message, [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = block["type"]
    if kind == "tool_use":
        start, deltas = (
            {**block, "input": {}},
            [{"type": "input_json_delta", "partial_json": piece} for piece in _cut(json.dumps(block["input"]))],
        )
    elif kind == "thinking":
        start = {"type": kind, "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    else:
        start, deltas = {"type": kind, "text": ""}, [{"type": "text_delta", "text": p} for p in _cut(block["text"])]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


# --- OpenAI's chat completions ------------------------------------------------------------------------


def _openai(asked: Asked, turn: Turn) -> tuple[dict[str, Any], list[str]]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.thought:
        message["reasoning_content"] = turn.thought
    if turn.tool:
        call = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        message["tool_calls"] = [{"id": f"call_{asked.turns + 1:04d}", "type": "function", "function": call}]
    usage = {
        "prompt_tokens": INPUT_TOKENS + CACHED_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + CACHED_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }
    reason = "tool_calls" if turn.tool else "stop"
    base = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": asked.body.get("model", "")}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    pieces: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    pieces += [{"content": piece} for piece in _cut(turn.text)]
    for call in message.get("tool_calls", []):
        first = {"index": 0, "id": call["id"], "type": "function"}
        pieces.append({"tool_calls": [{**first, "function": {"name": turn.tool, "arguments": ""}}]})
        pieces += [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            for piece in _cut(call["function"]["arguments"])
        ]
    chunk = {**base, "object": "chat.completion.chunk"}
    lines = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in pieces]
    lines.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        lines.append({**chunk, "choices": [], "usage": usage})
    return whole, [*(f"data: {json.dumps(line)}\n\n" for line in lines), "data: [DONE]\n\n"]


def _cut(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
