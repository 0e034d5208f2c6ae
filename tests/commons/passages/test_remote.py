"""A provider over HTTP: a real server on this machine that answers well, badly, or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from choir.commons.passages.remote import RemoteEmbedder, RemoteSettings
from choir.foundation.errors import Unavailable

KEY = "sk-very-secret"
Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class Provider:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append({"path": self.path, **body})
                outer.keys.append(self.headers["Authorization"])
                status, data = outer.answer(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def embedder(self, **changed: Any) -> RemoteEmbedder:
        return RemoteEmbedder(RemoteSettings(**{"url": self.url, "model": "m-1", "dims": 3, "key": KEY, **changed}))


def good(body: dict[str, Any]) -> tuple[int, bytes]:
    rows = [{"index": at, "embedding": [len(text), -0.5, 0.25]} for at, text in enumerate(body["input"])]
    return 200, json.dumps({"data": rows[::-1]}).encode()


def rows(*vectors: object) -> Answer:
    data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return lambda _: (200, json.dumps({"data": data}).encode())


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def test_texts_become_whole_numbers_in_order(provider: Provider) -> None:
    found = provider.embedder(batch=2).embed(["a", "bb", "cccc"])
    assert found == [(127, -63, 32), (127, -32, 16), (127, -16, 8)]
    assert [len(asked["input"]) for asked in provider.asked] == [2, 1]
    assert provider.asked[0]["path"] == "/v1/embeddings"
    assert provider.keys == [f"Bearer {KEY}"] * 2


def test_its_name_tells_model_and_provider(provider: Provider) -> None:
    assert provider.embedder().name == "m-1/3@127.0.0.1"
    assert KEY not in repr(RemoteSettings(provider.url, "m", 3, KEY))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda _: (401, KEY.encode()), "status 401"),
        (lambda _: (302, b""), "status 302"),
        (lambda _: (200, b"nonsense"), "another shape"),
        (lambda _: (200, b"[" * 100_000), "another shape"),
        (rows(), "each text once"),
        (rows([1, 2, 3], [1, 2, 3]), "each text once"),
        (rows([1, 2]), "3 finite numbers"),
        (rows([1, 2, "3"]), "3 finite numbers"),
        (rows([1, 2, float("nan")]), "3 finite numbers"),
        (lambda _: (200, b" " * 2_000_000), "too large"),
    ],
)
def test_a_bad_answer_is_refused_without_the_key(provider: Provider, answer: Answer, why: str) -> None:
    provider.answer = answer
    with pytest.raises(Unavailable, match=why) as caught:
        provider.embedder(answer_bytes_max=1_000_000).embed(["a"])
    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_slow_provider_is_not_waited_for(provider: Provider) -> None:
    def slow(body: dict[str, Any]) -> tuple[int, bytes]:
        time.sleep(1)
        return good(body)

    provider.answer = slow
    with pytest.raises(Unavailable, match="ReadTimeout"):
        provider.embedder(timeout_s=0.1).embed(["a"])


def test_no_provider_is_said() -> None:
    with pytest.raises(Unavailable, match="ConnectError"):
        RemoteEmbedder(RemoteSettings("http://127.0.0.1:9", "m", 3)).embed(["a"])
