"""Fetches a document by its URL.

Guarantees: only public addresses are reached (`sandbox.egress.rules` says which), also after redirects; a name is
resolved once for a connection, and the connection goes to the very address that was checked, while `Host` and TLS
know the name; nothing is sent but the question: no cookie, no credential, nothing of the environment. Time and size
are limited in all, whatever the server does: it may answer byte by byte, and pack a lot into little.
"""

from __future__ import annotations

import queue
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.message import Message
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpcore

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.documents import essence, is_readable
from choir.commons.sources.model import DocumentTooLarge, FetchedDocument, FetchOff, FetchRefused
from choir.commons.sources.text import line
from choir.sandbox.egress import rules
from choir.sandbox.egress.model import EgressRefused, EgressRule

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BAD_IN_URL = re.compile(r"[\0-\x20\x7f-\xa0\ud800-\udfff\\]")
_PLAIN_IN_TARGET = "/?%:@!$&'()*+,;=~"
_ASKED = (
    ("Accept", "text/html, application/xhtml+xml, application/pdf, text/markdown, text/plain, */*;q=0.1"),
    ("Accept-Encoding", "gzip"),
    ("Connection", "close"),
    ("User-Agent", "choir"),
)
_GZIP = zlib.MAX_WBITS | 16
_FILENAME_CHARS_MAX = 200
_WHY_CHARS_MAX = 120


class Fetcher:
    """Fetches documents as the policy allows it. `private` is for tests and closed networks: any address and port."""

    def __init__(self, policy: SourcesPolicy, *, private: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self._policy = policy
        self._private = private
        self._tls = tls  # None: the usual authorities

    def fetch(self, url: str) -> FetchedDocument:
        """What the URL leads to."""
        if not self._policy.fetch_urls:
            raise FetchOff
        network = _Network(time.monotonic() + self._policy.fetch_s_max, self._private)
        with self._explained(), httpcore.ConnectionPool(self._tls, network_backend=network) as pool:
            place = _parse(url)
            for _ in range(self._policy.fetch_redirects_max + 1):
                with pool.stream("GET", place, headers=[("Host", _authority(place)), *_ASKED]) as response:
                    headers = {name.lower().decode(): value.decode("latin-1") for name, value in response.headers}
                    if response.status not in _REDIRECTS:
                        return self._take(place, response, headers)
                    place = _parse(headers.get("location", ""), _written(place))
        raise FetchRefused(why=f"there are more than {self._policy.fetch_redirects_max} redirects")

    def _take(self, place: httpcore.URL, response: httpcore.Response, headers: dict[str, str]) -> FetchedDocument:
        if response.status != 200:
            raise FetchRefused(why=f"the server answers with status {response.status}")
        declared = essence(headers.get("content-type"))
        if not is_readable(declared):
            raise FetchRefused(why=f"it is {line(declared, 80)}, which cannot be read")
        data = self._unpacked(response.iter_stream(), headers.get("content-encoding", "").strip().lower())
        return FetchedDocument(data, declared or None, _written(place), _filename(place, headers))

    def _unpacked(self, pieces: Iterable[bytes], packing: str) -> bytes:
        """The body; not more is unpacked of it than one byte beyond the limit."""
        if packing not in ("", "identity", "gzip", "x-gzip"):
            raise FetchRefused(why=f"the answer is packed as {line(packing, 40)}, which was not asked for")
        gzip = zlib.decompressobj(_GZIP) if packing in ("gzip", "x-gzip") else None
        limit, found, received = self._policy.document_bytes_max, bytearray(), 0
        for piece in pieces:
            received += len(piece)
            found += gzip.decompress(piece, limit - len(found) + 1) if gzip else piece
            if max(len(found), received) > limit:
                raise DocumentTooLarge(what="the file", size=f"more than {limit} bytes", limit=limit)
        if gzip and not gzip.eof:
            raise FetchRefused(why="the answer is cut off")
        return bytes(found)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except EgressRefused as refusal:
            raise FetchRefused(why=refusal.fields["why"]) from None
        except httpcore.TimeoutException:
            raise FetchRefused(why=f"it takes more than {self._policy.fetch_s_max} seconds") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, zlib.error) as error:
            raise FetchRefused(why=f"the server cannot be understood ({line(str(error), _WHY_CHARS_MAX)})") from None


# --- URLs ---------------------------------------------------------------------------------------------


def _parse(url: str, base: str = "") -> httpcore.URL:
    """A URL taken apart once, so that what is checked is what is used."""
    if _BAD_IN_URL.search(url):
        raise FetchRefused(why="the URL holds characters that do not belong in one")
    try:
        parts = urlsplit(urljoin(base, url))
    except ValueError:
        raise FetchRefused(why="the URL cannot be read") from None
    if parts.scheme not in _PORTS:
        raise FetchRefused(why="only http:// and https:// can be fetched")
    if "@" in parts.netloc:
        raise FetchRefused(why="a URL with a name or a password is not fetched")
    host, port = rules.split_authority(parts.netloc, _PORTS[parts.scheme])
    query = f"?{parts.query}" if parts.query else ""
    target = quote((parts.path or "/") + query, safe=_PLAIN_IN_TARGET)
    return httpcore.URL(scheme=parts.scheme, host=host, port=port, target=target)


def _authority(place: httpcore.URL) -> str:
    host, scheme = place.host.decode(), place.scheme.decode()
    shown = f"[{host}]" if ":" in host else host
    return shown if place.port == _PORTS[scheme] else f"{shown}:{place.port}"


def _written(place: httpcore.URL) -> str:
    return f"{place.scheme.decode()}://{_authority(place)}{place.target.decode()}"


def _filename(place: httpcore.URL, headers: dict[str, str]) -> str:
    said = Message()
    said["Content-Disposition"] = headers.get("content-disposition", "")
    name = said.get_filename() or unquote(place.target.decode().partition("?")[0])
    return line(re.split(r"[/\\]", name)[-1], _FILENAME_CHARS_MAX)


# --- the network --------------------------------------------------------------------------------------


class _Network(httpcore.SyncBackend):
    """Connects to checked addresses alone, and forgets nothing of the time that has passed."""

    def __init__(self, until: float, private: bool) -> None:
        self._until = until
        self._private = private

    def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.NetworkStream:
        rule = EgressRule(host, private=self._private)
        if not rule.private and port not in rule.ports:
            raise EgressRefused(why=f"port {port} is not one of the web")
        addresses = _resolve(host, port, _left(self._until))
        rules.choose_address(addresses, rule)  # it looks at all of them
        failed = httpcore.ConnectError()
        for address in addresses:
            try:
                return _Timed(super().connect_tcp(address, port, _left(self._until), socket_options=[]), self._until)
            except httpcore.ConnectError as error:
                failed = error
        raise failed


class _Timed(httpcore.NetworkStream):
    """A connection whose every step ends when the time for all of them is over."""

    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, _left(self._until))

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, _left(self._until)), self._until)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout
    return left


def _resolve(host: str, port: int, seconds: float) -> list[str]:
    """The addresses of a name. Asked for in a thread of its own, as the system's resolver knows no deadline."""
    answers: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            found = []
        answers.put(list(dict.fromkeys(str(each[4][0]) for each in found)))

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except queue.Empty:
        raise httpcore.ConnectTimeout from None
