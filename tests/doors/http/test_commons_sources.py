"""Sources over HTTP: documents of every kind, their text and spans of it, who may see them, and what is no document."""

from __future__ import annotations

import socket
from typing import Any

import httpx
import pytest

from choir.foundation.canonical import bytes_hash
from tests.commons.sources.making import of_lines
from tests.doors.http.commons_table import NO_HASH
from tests.doors.http.market import all_pages
from tests.doors.http.press import WritersDesk, add, new_text, writer
from tests.doors.http.visitors import Browser, Json, client, done, origin, refused
from tests.operations.nodes import NodeUnderTest

QUOTE = "Wind caused vibration in 45 bridges."
PLAIN = f"A survey\n\n{QUOTE} Nobody was hurt.".encode()
FIRST_LINE = "The survey covered 120 bridges in 14 countries. Wind caused vibration in 45 of…"
HTML = f"<!doctype html><title>Winds</title><p>A survey</p><script>steal()</script><p>{QUOTE}</p>".encode()
MARKDOWN = f"# Winds\n\n{QUOTE}\n".encode()
PDF = of_lines([b"A survey", QUOTE.encode()])


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 0)


@pytest.mark.parametrize(
    ("data", "media_type", "reader"),
    [
        (PLAIN, "text/plain", "plain/1"),
        (HTML, "text/html", "html/1"),
        (MARKDOWN, "text/markdown", "markdown/1"),
        (PDF, "application/pdf", "pdf/1"),
    ],
    ids=["plain", "html", "markdown", "pdf"],
)
def test_a_document_is_kept_read_and_found(author: Browser, data: bytes, media_type: str, reader: str) -> None:
    http = author.http
    filename = "winds.md" if media_type == "text/markdown" else "winds"
    found = add(http, data, filename=filename)
    assert (found["state"], found["media_type"], found["origin"]) == ("UNTRUSTED", media_type, "file")
    assert (found["bytes"], found["size"]) == (bytes_hash(data), len(data))
    assert found["reader"].startswith(reader)
    where = f"/v1/sources/{found['hash']}"
    assert done(http.get(where)) == found
    whole = done(http.get(f"{where}/text"))
    assert (whole["start"], whole["end"], whole["chars"]) == (0, found["chars"], found["chars"])
    assert bytes_hash(whole["text"].encode()) == found["text"]
    assert "steal" not in whole["text"]
    [span] = done(http.get("/v1/spans", params={"q": QUOTE, "source": found["hash"]}))["items"]
    start, end = (int(part) for part in span["pointer"].partition("@")[2].split("-"))
    assert (span["text"], whole["text"][start:end]) == (QUOTE, QUOTE)
    assert done(http.get(f"{where}/text", params={"start": start, "end": end}))["text"] == QUOTE


def test_a_document_comes_back_as_it_was_and_no_browser_runs_it(author: Browser) -> None:
    found = add(author.http, HTML, filename="again.html")
    answer = author.http.get(f"/v1/sources/{found['hash']}/document")
    assert answer.content == HTML
    headers = answer.headers
    assert (headers["content-type"], headers["content-disposition"]) == ("application/octet-stream", "attachment")
    assert headers["x-content-type-options"] == "nosniff"


def test_the_same_document_is_one_source(author: Browser) -> None:
    text = new_text().encode()

    def send(**params: Any) -> httpx.Response:
        return author.http.post("/v1/sources", content=text, params=params)

    first, again, other = send(title="One"), send(title="One"), send(title="Two")
    assert [answer.status_code for answer in (first, again, other)] == [201, 200, 201]
    assert first.json() == again.json()
    assert other.json()["hash"] != first.json()["hash"]
    assert (other.json()["origin"], other.json()["text"]) == ("upload", first.json()["text"])


def test_a_title_is_what_can_be_seen_of_it(author: Browser) -> None:
    text = new_text()
    assert add(author.http, text, title="Two\n lines\u202e and\0 more")["title"] == "Two lines and more"
    assert add(author.http, text, title="\u200b")["title"] == FIRST_LINE
    assert author.http.post("/v1/sources", content=text.encode()).json()["title"] == FIRST_LINE
    assert add(author.http, HTML, title="")["title"] == "Winds"


def test_parts_of_a_text_by_their_offsets(author: Browser) -> None:
    text = "".join(f"Line {n} of a long text.\n" for n in range(6_000)).strip()
    where = f"/v1/sources/{add(author.http, text)['hash']}/text"
    first = done(author.http.get(where))
    assert (len(first["text"]), first["end"], first["chars"]) == (100_000, 100_000, len(text))
    rest = done(author.http.get(where, params={"start": first["end"]}))
    assert first["text"] + rest["text"] == text
    beyond = done(author.http.get(where, params={"start": len(text) + 5}))
    assert (beyond["text"], beyond["start"], beyond["end"]) == ("", len(text) + 5, len(text) + 5)
    assert done(author.http.get(where, params={"start": 9, "end": 4}))["text"] == ""
    for params in ({"start": -1}, {"end": -1}, {"start": 10**10}, {"start": "x"}):
        refused(author.http.get(where, params=params), 422, "invalid")


def test_what_others_added_is_not_there(served: NodeUnderTest, author: Browser) -> None:
    mine = WritersDesk(author).source
    stranger = writer(served, 0)
    for path in ("", "/text", "/document"):
        refused(stranger.http.get(f"/v1/sources/{mine}{path}"), 404, "commons.source_unknown")
    refused(stranger.http.get("/v1/spans", params={"q": "wind", "source": mine}), 404, "commons.source_unknown")
    assert mine not in {item["hash"] for item in all_pages(stranger.http, "/v1/sources", 100)}
    seen = done(stranger.http.get("/v1/spans", params={"q": "survey copy", "limit": "500"}))["items"]
    assert not [item for item in seen if item["pointer"].startswith(mine)]


def test_sources_are_listed_newest_first_page_by_page(served: NodeUnderTest) -> None:
    author = writer(served, 0)
    made = [add(author.http, new_text())["hash"] for _ in range(3)]
    assert [item["hash"] for item in all_pages(author.http, "/v1/sources", 2, mine="true")] == made[::-1]
    assert [item["hash"] for item in all_pages(author.http, "/v1/sources", 1, mine="true")] == made[::-1]
    everybodys = [item["hash"] for item in all_pages(author.http, "/v1/sources", 50)]
    assert set(made) <= set(everybodys)
    for cursor in ("x", "-1", "9" * 19):
        refused(author.http.get("/v1/sources", params={"cursor": cursor}), 422, "invalid")


def test_a_span_is_found_by_words_best_sentence_first(author: Browser) -> None:
    text = f"Cats sleep. {'Filler goes here. ' * 200}Dogs bark at night in Oslo. {'More filler. ' * 200}"
    name = add(author.http, text)["hash"]
    found = done(author.http.get("/v1/spans", params={"q": "oslo dogs", "source": name}))["items"]
    assert found[0]["text"] == "Dogs bark at night in Oslo."
    assert done(author.http.get("/v1/spans", params={"q": "zebras", "source": name}))["items"] == []
    for words in ("\0", "\u200b", "!!! ???", "' or 1=1 --", "a" * 2_000, '"unclosed', "& | ! :*"):
        done(author.http.get("/v1/spans", params={"q": words, "source": name}))
        done(author.http.get("/v1/spans", params={"q": words}))
    for bad in ({"q": ""}, {"q": "a" * 2_001}, {}, {"q": "x", "source": "sha256:zz"}, {"q": "x", "limit": "0"}):
        refused(author.http.get("/v1/spans", params=bad), 422, "invalid")


@pytest.mark.parametrize(
    ("data", "params", "why"),
    [
        (b"", {}, "no text"),
        (b" \n ", {}, "no text"),
        (b"a\0b", {}, "binary"),
        (b"\xff\xfe\xfa", {}, "utf-16"),
        (b"caf\xe9", {}, "utf-8"),
        (b"PK\x03\x04zip", {}, "ZIP archive"),
        (b"\x89PNG\r\n", {"filename": "report.pdf"}, "an image"),
        (b"no pdf", {"filename": "report.pdf"}, "does not begin like one"),
        (b"%PDF-1.7\nbroken", {}, ""),
        (b"text", {"media_type": "image/png"}, "image/png"),
    ],
)
def test_what_is_no_document_is_told_why(author: Browser, data: bytes, params: Json, why: str) -> None:
    answer = author.http.post("/v1/sources", content=data, params=params)
    assert why in refused(answer, 422, "commons.unreadable")["detail"]


def test_what_is_too_large_is_refused(served: NodeUnderTest, author: Browser) -> None:
    answer = author.http.post("/v1/sources", content=b"a" * 20_000_001)
    assert refused(answer, 413, "commons.document_too_large")["fields"]["limit"] == 20_000_000
    long = author.http.post("/v1/sources", content=b"a b " * 1_500_000)
    refused(long, 413, "commons.document_too_large")
    who = [f"Origin: {origin(served)}", f"Cookie: choir_session={author.token}"]
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(
            "\r\n".join(["POST /v1/sources HTTP/1.1", "Host: x", *who, "Content-Length: 99000000", "", ""]).encode()
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")  # before a byte of it was sent


def test_nobody_sends_a_document_without_a_credential_or_the_scope(served: NodeUnderTest, author: Browser) -> None:
    with client(served) as nobody:
        refused(nobody.post("/v1/sources", content=b"text"), 401, "unauthenticated")
    with author.program("read", "publish") as program:
        refused(program.post("/v1/sources", content=b"text"), 403, "identity.scope_missing")
    with author.program("research") as program:
        assert program.post("/v1/sources", content=new_text().encode()).status_code == 201


@pytest.mark.parametrize("name", ["sha256:zz", "sha256:" + "A" * 64, "md5:abc", "x" * 500, "sha256:" + "0" * 65, "%00"])
@pytest.mark.parametrize("path", ["", "/text", "/document"])
def test_what_is_no_hash_is_not_looked_for(author: Browser, name: str, path: str) -> None:
    refused(author.http.get(f"/v1/sources/{name}{path}"), 422, "invalid")


def test_an_unknown_source(author: Browser) -> None:
    refused(author.http.get(f"/v1/sources/{NO_HASH}"), 404, "commons.source_unknown")


@pytest.mark.parametrize("url", ["https://example.org/a.pdf", "file:///etc/passwd", "http://169.254.169.254/", "x"])
def test_this_node_fetches_nothing(author: Browser, url: str) -> None:
    told = refused(author.http.post("/v1/sources/fetched", json={"url": url}), 409, "commons.fetch_off")
    assert "add the file" in told["hint"]
    answer: httpx.Response = author.http.post("/v1/sources/fetched", json={"url": ""})
    refused(answer, 422, "invalid")
