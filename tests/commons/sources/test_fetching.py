"""Fetching by URL, from real servers on this machine: addresses, redirects, limits of time and size, TLS, packing."""

from __future__ import annotations

import gzip
import http.server
import ipaddress
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.fetching import Fetcher
from choir.commons.sources.model import DocumentTooLarge, FetchOff, FetchRefused

POLICY = SourcesPolicy(fetch_urls=1, document_bytes_max=100_000, fetch_s_max=20, fetch_redirects_max=2)
HTML = {"Content-Type": "text/html; charset=utf-8"}

ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/page": (200, HTML, b"<p>Hello"),
    "/caf%C3%A9?q=%C3%BC": (200, HTML, b"<p>accents"),
    "/named": (
        200,
        {"Content-Type": "text/markdown", "Content-Disposition": 'attachment; filename="../a b.md"'},
        b"# x",
    ),
    "/file.pdf": (200, {"Content-Type": "application/octet-stream"}, b"%PDF-1.7"),
    "/untyped": (200, {}, b"text"),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/gone": (404, HTML, b"<p>no"),
    "/cookie": (302, {"Location": "/page", "Set-Cookie": "a=b"}, b""),
    "/once": (301, {"Location": "page#part"}, b""),
    "/twice": (307, {"Location": "/once"}, b""),
    "/thrice": (308, {"Location": "/twice"}, b""),
    "/round": (302, {"Location": "/round"}, b""),
    "/nowhere": (302, {}, b""),
    "/to-ruins": (302, {"Location": "http://[::1/"}, b""),
    "/to-file": (302, {"Location": "file:///etc/passwd"}, b""),
    "/to-user": (302, {"Location": "http://name:password@example.org/"}, b""),
    "/large": (200, HTML, b"x" * 100_001),
    "/exact": (200, HTML, b"x" * 100_000),
    "/gzip": (200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(b"<p>packed")),
    "/bomb": (200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 50_000_000)),
    "/cut": (200, HTML | {"Content-Encoding": "gzip"}, gzip.compress(b"<p>packed")[:-3]),
    "/junk": (200, HTML | {"Content-Encoding": "gzip"}, b"no gzip at all"),
    "/deflate": (200, HTML | {"Content-Encoding": "deflate"}, zlib.compress(b"x")),
}


class Site(http.server.BaseHTTPRequestHandler):
    """Answers from the table, and keeps what it was asked with."""

    asked: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        self.asked.append((self.path, dict(self.headers.items())))
        status, headers, body = ANSWERS[self.path]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def site(tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[tuple[str, dict[str, str]]]]]:
    asked: list[tuple[str, dict[str, str]]] = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Kept", (Site,), {"asked": asked}))
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with site() as (number, _):
        yield number


@pytest.fixture(scope="module")
def fetcher() -> Fetcher:
    return Fetcher(POLICY, private=True)


@contextmanager
def raw(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that says whatever it likes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(10_000)
                    serve(connection)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    thread.join()


# --- what comes back ----------------------------------------------------------------------------------


def test_a_page_is_fetched_with_a_plain_question() -> None:
    with site() as (port, asked):
        found = Fetcher(POLICY, private=True).fetch(f"HTTP://LocalHost:{port}/page#part")
    assert (found.data, found.declared, found.filename) == (b"<p>Hello", "text/html", "page")
    assert found.url == f"http://localhost:{port}/page"
    path, headers = asked[0]
    assert path == "/page"
    assert headers.pop("Accept").startswith("text/html")
    assert headers == {
        "Host": f"localhost:{port}",
        "User-Agent": "choir",
        "Accept-Encoding": "gzip",
        "Connection": "close",
    }


def test_redirects_are_followed_without_cookies() -> None:
    with site() as (port, asked):
        found = Fetcher(POLICY, private=True).fetch(f"http://127.0.0.1:{port}/cookie")
    assert found.url == f"http://127.0.0.1:{port}/page"
    assert [path for path, _ in asked] == ["/cookie", "/page"]
    assert "Cookie" not in asked[1][1]


@pytest.mark.parametrize(
    ("path", "declared", "filename"),
    [
        ("/named", "text/markdown", "a b.md"),
        ("/file.pdf", "application/octet-stream", "file.pdf"),
        ("/untyped", None, "untyped"),
        ("/café?q=ü", "text/html", "café"),
        ("/twice", "text/html", "page"),
    ],
)
def test_type_and_name_are_those_of_the_end(
    fetcher: Fetcher, port: int, path: str, declared: str | None, filename: str
) -> None:
    found = fetcher.fetch(f"http://127.0.0.1:{port}{path}")
    assert (found.declared, found.filename) == (declared, filename)


def test_packed_answers_are_unpacked(fetcher: Fetcher, port: int) -> None:
    assert fetcher.fetch(f"http://127.0.0.1:{port}/gzip").data == b"<p>packed"


# --- what is refused ----------------------------------------------------------------------------------


def test_nothing_is_fetched_unless_the_policy_says_so() -> None:
    with pytest.raises(FetchOff):
        Fetcher(SourcesPolicy()).fetch("https://example.org/")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/image", "image/png"),
        ("/gone", "404"),
        ("/thrice", "more than 2 redirects"),
        ("/round", "more than 2 redirects"),
        ("/nowhere", "more than 2 redirects"),
        ("/to-ruins", "cannot be read"),
        ("/to-file", "only http"),
        ("/to-user", "password"),
        ("/cut", "cut off"),
        ("/junk", "cannot be understood"),
        ("/deflate", "packed as deflate"),
    ],
)
def test_answers_that_lead_nowhere_are_refused(fetcher: Fetcher, port: int, path: str, why: str) -> None:
    with pytest.raises(FetchRefused, match=why):
        fetcher.fetch(f"http://127.0.0.1:{port}{path}")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x",
        "file:///etc/passwd",
        "//example.org/",
        "example.org",
        "http://",
        "http://name@example.org/",
        "http://name:password@example.org/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://exa mple.org/",
        "http://example.org/\r\nHost: other",
        "http://example.org\\@127.0.0.1/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://münchen.example/",
        "http://example.org/\ud800",
        "",
    ],
)
def test_urls_that_cannot_be_read_in_one_way_are_refused(fetcher: Fetcher, url: str) -> None:
    with pytest.raises(FetchRefused):
        fetcher.fetch(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0.0.0.0",  # noqa: S104
        "10.0.0.1",
        "169.254.169.254",
        "192.168.1.1",
        "100.64.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
    ],
)
def test_addresses_that_are_not_public_are_refused(host: str) -> None:
    with pytest.raises(FetchRefused, match=r"not public|no address"):
        Fetcher(POLICY).fetch(f"http://{host}/")


def test_ports_that_are_not_those_of_the_web_are_refused() -> None:
    with pytest.raises(FetchRefused, match="port 25"):
        Fetcher(POLICY).fetch("http://example.org:25/")


def test_sizes_count_after_unpacking(fetcher: Fetcher, port: int) -> None:
    assert len(fetcher.fetch(f"http://127.0.0.1:{port}/exact").data) == 100_000
    for path in ("/large", "/bomb"):
        with pytest.raises(DocumentTooLarge, match="more than 100000 bytes"):
            fetcher.fetch(f"http://127.0.0.1:{port}{path}")


# --- servers that misbehave ---------------------------------------------------------------------------


def endless(head: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)

    return serve


def silent(connection: socket.socket) -> None:
    connection.recv(1)


def dripping(head: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            threading.Event().wait(0.05)

    return serve


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize(
    "serve",
    [
        silent,
        dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        dripping(PLAIN + b"\r\n", b"x"),
        dripping(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
)
def test_a_server_that_drips_is_left_in_time(serve: Callable[[socket.socket], None]) -> None:
    hasty = Fetcher(SourcesPolicy(fetch_urls=1, fetch_s_max=1), private=True)
    with raw(serve) as port, pytest.raises(FetchRefused, match="more than 1 seconds"):
        hasty.fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "serve",
    [
        endless(PLAIN + b"\r\n", b"x" * 1_000),
        endless(PLAIN + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"x"), b"x" * 1_000),
        endless(PLAIN + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\nxx\r\n" * 1_000),
    ],
)
def test_an_endless_body_is_left_at_the_limit(fetcher: Fetcher, serve: Callable[[socket.socket], None]) -> None:
    with raw(serve) as port, pytest.raises(DocumentTooLarge):
        fetcher.fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    "serve",
    [
        endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1_000),
        lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"),
        lambda connection: connection.sendall(b""),
        lambda connection: connection.sendall(PLAIN + b"Content-Length: 10\r\n\r\nshort"),
    ],
)
def test_what_is_no_answer_is_refused(fetcher: Fetcher, serve: Callable[[socket.socket], None]) -> None:
    with raw(serve) as port, pytest.raises(FetchRefused, match="cannot be understood"):
        fetcher.fetch(f"http://127.0.0.1:{port}/")


def test_nobody_listening_is_said(fetcher: Fetcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(FetchRefused, match="refused"):
        fetcher.fetch(f"http://127.0.0.1:{port}/")


# --- TLS ----------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of that name shows, and what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("::1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    hidden = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(hidden + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode())


def test_tls_is_checked_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    server, trust = certificate(tmp_path, "localhost")
    names: list[str | None] = []
    server.sni_callback = lambda _, name, __: names.append(name)
    with site(server) as (port, asked):
        trusting = Fetcher(POLICY, private=True, tls=trust)
        assert trusting.fetch(f"https://localhost:{port}/page").data == b"<p>Hello"
        assert (names, asked[0][1]["Host"]) == (["localhost"], f"localhost:{port}")
        with pytest.raises(FetchRefused, match="CERTIFICATE_VERIFY_FAILED"):
            trusting.fetch(f"https://127.0.0.1:{port}/page")
        with pytest.raises(FetchRefused, match="CERTIFICATE_VERIFY_FAILED"):
            Fetcher(POLICY, private=True).fetch(f"https://localhost:{port}/page")
