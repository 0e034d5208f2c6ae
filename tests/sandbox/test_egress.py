"""The way out: nothing without a rule, nothing private, limits, credentials on the host's side, all recorded."""

from __future__ import annotations

import base64
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from choir.sandbox.egress import rules
from choir.sandbox.egress.model import Credential, Egress, EgressRecord, EgressRefused, EgressRule
from choir.sandbox.egress.service import EgressHost
from choir.sandbox.model import InFile, Result, Spec, Tier, Trust
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes


class Server(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        facts = {"path": self.path, "method": self.command, "headers": dict(self.headers), "body": len(body)}
        if not self.path.startswith("/echo"):
            facts["headers"] = {name: value for name, value in self.headers.items() if name != "X-Api-Key"}
        data = json.dumps(facts).encode()
        if self.path == "/large":
            data = b"x" * 3_000_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Had-Key", self.headers.get("X-Api-Key", "no")[:4])
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        return


def serve(context: ssl.SSLContext | None = None) -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def plain() -> Iterator[int]:
    server = serve()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, bytes]]:
    """A TLS server called localhost, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(secret + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    server = serve(context)
    yield server.server_port, pem
    server.shutdown()
    server.server_close()


def sh(sandboxes: Sandboxes, script: str, *allowed: EgressRule, tier: Tier = Tier.BUBBLEWRAP, **more: object) -> Result:
    egress = Egress(tuple(allowed), **{k: v for k, v in more.items() if k.endswith("_max")})  # type: ignore[arg-type]
    files = more.get("files", ())
    return sandboxes.run(
        Spec(argv=("sh", "-c", script), egress=egress, tier=tier, trust=Trust.OWN, files=files)  # type: ignore[arg-type]
    )


def here(port: int, **more: object) -> EgressRule:
    return EgressRule("127.0.0.1", (port,), private=True, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("tier", [Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR], ids=lambda tier: tier.label)
def test_ordinary_clients_work_and_every_request_is_recorded(sandboxes: Sandboxes, plain: int, tier: Tier) -> None:
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    script = f"""
    curl -sS http://127.0.0.1:{plain}/one?secret=query
    python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:{plain}/two").status)'
    curl -sS -o /dev/null -w '%{{http_code}}' http://elsewhere.example/
    """
    result = sh(sandboxes, script, here(plain), tier=tier)
    assert b'"path": "/one?secret=query"' in result.stdout, result.stderr
    assert result.stdout.endswith(b"200\n403")
    assert [(r.method, r.host, r.path, r.outcome) for r in result.requests] == [
        ("GET", "127.0.0.1", "/one", "done"),
        ("GET", "127.0.0.1", "/two", "done"),
        ("GET", "elsewhere.example", "/", "refused"),
    ]
    assert all(record.status == 200 and record.received_bytes > 0 for record in result.requests[:2])


def test_without_egress_there_is_no_proxy(sandboxes: Sandboxes) -> None:
    result = sandboxes.run(Spec(argv=("sh", "-c", "env; ls -A /run")))
    assert b"PROXY" not in result.stdout.upper()
    assert b"choir" not in result.stdout


def test_methods_paths_and_ports_are_looked_at(sandboxes: Sandboxes, plain: int) -> None:
    base = f"http://127.0.0.1:{plain}"
    code = "curl -sS -o /dev/null -w '%{http_code} ' --path-as-is"
    script = f"{code} {base}/api/x; {code} -X DELETE {base}/api/x; {code} {base}/other; {code} {base}/api/../other; "
    script += f"{code} http://127.0.0.1:1/api; {code} {base}/api/%2e%2e/other; {code} {base}/api/%2e%2e%2fother; "
    script += f"{code} {base}/api/..%5cother; {code} '{base}/api/..;x/other'; {code} {base}/api/a%2fb"
    result = sh(sandboxes, script, here(plain, paths=("/api/",)))
    assert result.stdout.split() == [b"200", *[b"403"] * 8, b"200"]


def test_a_private_address_needs_a_rule_that_says_so(sandboxes: Sandboxes, plain: int) -> None:
    script = f"curl -sS http://localhost:{plain}/; curl -sS http://169.254.169.254/latest/meta-data/"
    allowed = [EgressRule("localhost", (plain,)), EgressRule("169.254.169.254", (80,))]
    result = sh(sandboxes, script, *allowed)
    assert result.stdout.count(b"not public") == 2
    assert all(record.outcome == "refused" for record in result.requests)


def test_credentials_are_added_outside_and_never_come_back(sandboxes: Sandboxes, plain: int) -> None:
    key = Credential("X-Api-Key", "key-0123456789abcdef")
    script = f"curl -sSi -H 'X-Api-Key: forged' http://127.0.0.1:{plain}/; curl -sS http://127.0.0.1:{plain}/echo; env"
    result = sh(sandboxes, script, here(plain, credential=key))
    assert b"X-Had-Key: key-" in result.stdout
    assert b"forged" not in result.stdout.replace(b"'X-Api-Key: forged'", b"")
    assert key.value.encode() not in result.stdout + result.stderr
    assert result.requests[0].credential
    assert result.requests[1].outcome == "cut"
    assert key.value not in repr(key) + repr(result.requests)


def test_the_token_of_the_job_is_needed(sandboxes: Sandboxes, plain: int) -> None:
    script = f"curl -sS -o /dev/null -w '%{{http_code}}' -x http://127.0.0.1:3128 http://127.0.0.1:{plain}/"
    result = sh(sandboxes, script, here(plain))
    assert result.stdout == b"407"
    assert result.requests[0].outcome == "refused"


def test_sizes_and_counts_are_limited(sandboxes: Sandboxes, plain: int) -> None:
    base = f"http://127.0.0.1:{plain}"
    script = f"curl -sS {base}/large | wc -c; head -c 2000000 /dev/zero | curl -sS -o /dev/null -w '%{{http_code}}\n' "
    script += f"--data-binary @- {base}/; for n in 1 2 3 4; do curl -sS -o /dev/null -w '%{{http_code}} ' {base}/; done"
    limits = {"response_bytes_max": 1_000_000, "request_bytes_max": 1_000_000, "requests_max": 4}
    result = sh(sandboxes, script, here(plain, methods=("GET", "POST")), **limits)  # type: ignore[arg-type]
    lines = result.stdout.split(b"\n")
    assert int(lines[0]) <= 1_000_000
    assert lines[1] == b"403"
    assert lines[2].split() == [b"200", b"200", b"403", b"403"]


def test_a_tunnel_leads_only_to_the_host_it_was_opened_for(
    sandboxes: Sandboxes, secure: tuple[int, bytes], plain: int
) -> None:
    port, pem = secure
    rule = EgressRule("localhost", (port, plain), private=True, tunnel=True)
    url = f"https://localhost:{port}/"
    script = f"""
    curl -sS --cacert ca.pem {url}x
    curl -sS --cacert ca.pem --connect-to elsewhere.example:443:localhost:{port} https://elsewhere.example/ 2>&1
    curl -sS -p http://localhost:{plain}/ 2>&1
    """
    result = sh(sandboxes, script, rule, files=(InFile("ca.pem", pem),))
    assert b'"path": "/x"' in result.stdout, result.stderr
    assert [record.outcome for record in result.requests] == ["done", "cut", "cut"]


def test_https_is_spoken_by_the_proxy_when_the_rule_says_so(sandboxes: Sandboxes, secure: tuple[int, bytes]) -> None:
    """A certificate that the host does not trust is refused: the proxy checks it."""
    port, _ = secure
    rule = EgressRule("localhost", (port,), private=True, upstream_tls=True)
    result = sh(sandboxes, f"curl -sS http://localhost:{port}/", rule)
    assert result.requests[0].outcome == "failed"
    assert "CERTIFICATE" in result.requests[0].why.upper()


def test_garbage_does_not_harm_the_proxy(sandboxes: Sandboxes, plain: int) -> None:
    program = """
import os, socket
for data in (b"", b"\\0" * 10000, b"GET", b"GET / HTTP/1.1\\r\\n\\r\\n", b"A" * 200000,
             b"CONNECT x HTTP/1.1\\r\\n\\r\\n",
             b"GET http://a/ HTTP/1.1\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"):
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(3)
    try: s.sendall(data); s.shutdown(1); s.recv(100)
    except OSError: pass
held = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(100)]
"""
    spec = Spec(argv=("python3", "-c", program), egress=Egress((here(plain),)))
    result = sandboxes.run(spec)
    assert result.ok, result.stderr
    assert sandboxes.run(Spec(argv=("true",), egress=Egress((here(plain),)))).ok


# --- pure -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("example.org", "example.org", True),
        ("example.org", "www.example.org", False),
        ("*.example.org", "www.example.org", True),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "evilexample.org", False),
        ("example.org", "example.org.evil", False),
        ("EXAMPLE.org.", "example.org", True),
    ],
)
def test_hosts_fit_by_whole_names(pattern: str, host: str, fits: bool) -> None:
    assert rules.fits(pattern, host) is fits


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",  # noqa: S104
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "ff02::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::1",
        "255.255.255.255",
        "240.0.0.1",
        "192.0.2.1",
        "192.0.0.192",  # a cloud's metadata
        "::7f00:1",
        "::ffff:0:7f00:1",
        "64:ff9b:1::7f00:1",
        "fec0::1",
        "5f00::1",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not rules.is_public(address)
    with pytest.raises(EgressRefused):
        rules.choose_address(["93.184.215.14", address], EgressRule("x"))


def test_public_addresses_are() -> None:
    assert all(rules.is_public(address) for address in ("93.184.215.14", "2606:2800:220:1:248:1893:25c8:1946"))


@pytest.mark.parametrize(
    "head",
    [
        b"GET /path HTTP/1.1",
        b"GET http://a b/ HTTP/1.1",
        b"GET http://user@a/ HTTP/1.1",
        b"GET https://a/ HTTP/1.1",
        b"CONNECT a HTTP/1.1",
        b"CONNECT a:99999 HTTP/1.1",
        b"GET http://a/ HTTP/2",
        b"G(T http://a/ HTTP/1.1",
        b"GET http://a/ HTTP/1.1\r\nA : b",
        b"GET http://a/ HTTP/1.1\r\n folded",
        b"GET http://[::1/ HTTP/1.1",
        b"GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1",
        b"GET http://a%00/ HTTP/1.1",
        b"GET http://a/ HTTP/1.1\r\nContent-Length: -1",
        b"GET http://a/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
    ],
)
def test_requests_that_can_be_read_in_two_ways_are_refused(head: bytes) -> None:
    with pytest.raises(EgressRefused):
        rules.destination(rules.parse_head(head))


def test_an_outgoing_request_carries_nothing_of_the_hop_before(tmp_path: Path) -> None:
    head = rules.parse_head(
        b"POST http://a.example:8080/x?y HTTP/1.1\r\nHost: evil\r\nConnection: keep-alive, X-Drop\r\nX-Drop: 1\r\n"
        b"Proxy-Authorization: Basic x\r\nX-Keep: 2\r\nContent-Length: 3\r\nAuthorization: forged"
    )
    rule = EgressRule("a.example", (8080,), credential=Credential("Authorization", "Bearer real"))
    sent = rules.outgoing(head, rules.destination(head), rule).decode()
    assert sent.startswith("POST /x?y HTTP/1.1\r\nHost: a.example:8080\r\n")
    assert "X-Keep: 2" in sent
    assert "Authorization: Bearer real" in sent
    assert not any(word in sent for word in ("evil", "X-Drop", "Proxy-", "forged", "keep-alive"))


def test_a_credential_is_not_forged_by_another_spelling() -> None:
    head = rules.parse_head(
        b"GET http://a.example/ HTTP/1.1\r\nX_Api_Key: forged\r\nx-API_key: forged\r\nX_Other: kept"
    )
    sent = rules.outgoing(head, rules.destination(head), EgressRule("a.example", credential=_KEY)).decode()
    assert "forged" not in sent
    assert "X_Other: kept" in sent


# --- the proxy itself, spoken to directly ----------------------------------------------------------


class Raw:
    """A server that sends the given pieces one by one, and keeps what it was sent."""

    def __init__(self, *pieces: bytes, pause_s: float = 0.1, after: bytes = b"") -> None:
        self.pieces = pieces
        self.after = after  # how what it waits for ends
        self.pause_s = pause_s
        self.got = b""
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self.listening.accept()
        connection.settimeout(5)
        with connection, suppress(OSError):
            self.got = connection.recv(65_536)
            while not self.got.endswith(self.after):
                more = connection.recv(65_536)
                if not more:  # what it waits for never comes
                    return
                self.got += more
            for piece in self.pieces:
                connection.sendall(piece)
                time.sleep(self.pause_s)
            while more := connection.recv(65_536):
                self.got += more


@pytest.fixture
def egress_host() -> Iterator[EgressHost]:
    host = EgressHost(SandboxPolicy())
    yield host
    host.close()


def ask(host: EgressHost, folder: Path, egress: Egress, *pieces: bytes) -> tuple[bytes, tuple[EgressRecord, ...]]:
    """One connection to a proxy of its own: what came back, and the record. `TOKEN` stands for the credential."""
    endpoint = host.open(egress, folder, None)
    secret = base64.b64encode(f"job:{endpoint.token}".encode())
    came = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(endpoint.socket))
        with suppress(OSError):
            for piece in pieces:
                connection.sendall(piece.replace(b"TOKEN", b"Proxy-Authorization: Basic " + secret))
            while more := connection.recv(65_536):
                came += more
    return came, endpoint.finish()


def get(port: int, path: str = "/", *more: str, method: str = "GET") -> bytes:
    lines = [f"{method} http://127.0.0.1:{port}{path} HTTP/1.1", "TOKEN", *more, "", ""]
    return "\r\n".join(lines).encode()


_KEY = Credential("X-Api-Key", "key-0123456789abcdef")
_OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        (_OK + b"Content-Length: 22\r\n\r\na=key-0123456789", b"abcdef"),
        (_OK + b"\r\n", *(bytes([byte]) for byte in b"key-0123456789abcdef")),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\nc\r\na=key-012345\r\n", b"a\r\n6789abcdef\r\n0\r\n\r\n"),
        (_OK + b"\r\na=key-0123456789abcde",),  # nearly all of it, and then the end
        (_OK + b"X-Echo: key-0123456789abcdef\r\n\r\n",),
    ],
    ids=["in two pieces", "byte by byte", "in two chunks", "in part", "in the head"],
)
def test_no_part_of_a_credential_comes_back(egress_host: EgressHost, tmp_path: Path, answer: tuple[bytes, ...]) -> None:
    server = Raw(*answer, pause_s=0.05)
    came, records = ask(egress_host, tmp_path, Egress((here(server.port, credential=_KEY),)), get(server.port))
    assert _KEY.value.encode() in server.got
    assert b"key-0123" not in came
    assert [record.outcome for record in records] == ["cut"]


def test_what_only_looks_like_a_credential_at_first_comes_through(egress_host: EgressHost, tmp_path: Path) -> None:
    body = b"key-0123 is not key-0124, nor is ke"
    server = Raw(_OK + b"\r\n" + body[:6], body[6:-1], body[-1:], pause_s=0.02)
    server_two = Raw(_OK + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nke\r\n0\r\n\r\n")
    came, _ = ask(egress_host, tmp_path, Egress((here(server.port, credential=_KEY),)), get(server.port))
    assert came.endswith(b"\r\n\r\n" + body[:-2] + body[-2:])
    (tmp_path / "two").mkdir()
    rule = here(server_two.port, credential=_KEY)
    came, _ = ask(egress_host, tmp_path / "two", Egress((rule,)), get(server_two.port))
    assert came.endswith(b"3\r\nabc\r\n2\r\nke\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        _OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        _OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_an_answer_that_can_be_read_in_two_ways_is_not_handed_on(
    egress_host: EgressHost, tmp_path: Path, answer: bytes
) -> None:
    server = Raw(answer)
    came, records = ask(egress_host, tmp_path, Egress((here(server.port),)), get(server.port))
    assert came.startswith(b"HTTP/1.1 502")
    assert [record.outcome for record in records] == ["failed"]


def test_a_whole_answer_is_done_however_the_two_part(egress_host: EgressHost, tmp_path: Path) -> None:
    for place in range(20):
        (tmp_path / f"{place}").mkdir()
        server = Raw(_OK + b"Content-Length: 2\r\n\r\nok")
        _, records = ask(egress_host, tmp_path / f"{place}", Egress((here(server.port),)), get(server.port))
        assert [record.outcome for record in records] == ["done"]


def test_an_answer_that_breaks_off_is_not_followed_by_another(egress_host: EgressHost, tmp_path: Path) -> None:
    server = Raw(_OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\nnonsense\r\n")
    came, records = ask(egress_host, tmp_path, Egress((here(server.port),)), get(server.port))
    assert came.count(b"HTTP/1.1") == 1
    assert came.endswith(b"5\r\nabcde\r\n")
    assert [record.outcome for record in records] == ["cut"]


def test_a_large_chunk_is_handed_on_in_pieces_and_odd_ones_are_cut(egress_host: EgressHost, tmp_path: Path) -> None:
    server = Raw(_OK + b"Content-Length: 2\r\n\r\nok", after=b"\r\n0\r\n\r\n")
    rule = here(server.port, methods=("POST",))
    head = get(server.port, "/", "Transfer-Encoding: chunked", method="POST")
    body = b"30d40\r\n" + b"x" * 200_000 + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"
    came, _ = ask(egress_host, tmp_path, Egress((rule,)), head, body)
    assert came.endswith(b"ok")
    assert server.got.count(b"x") == 200_000
    assert b"smuggled" not in server.got
    for place, size in enumerate((b"-5", b"0x5", b"1_0", b"", b"+5", b"f" * 16)):
        server = Raw(_OK + b"Content-Length: 2\r\n\r\nok", after=b"never")
        (tmp_path / f"{place}").mkdir()
        head = get(server.port, "/", "Transfer-Encoding: chunked", method="POST")
        egress = Egress((here(server.port, methods=("POST",)),))
        _, records = ask(egress_host, tmp_path / f"{place}", egress, head, size + b"\r\nabcde\r\n0\r\n\r\n")
        assert [record.outcome for record in records] == ["cut"], size


def test_a_request_that_is_under_way_when_the_run_ends_is_recorded(sandboxes: Sandboxes) -> None:
    server = Raw()
    script = f"(curl -sS -d secret http://127.0.0.1:{server.port}/slow &) ; sleep 1"
    result = sh(sandboxes, script, here(server.port, methods=("POST",)))
    assert server.got.endswith(b"secret")
    assert [(record.path, record.outcome, record.sent_bytes) for record in result.requests] == [("/slow", "cut", 6)]


def test_endless_connections_end_with_nobody_listening(egress_host: EgressHost, tmp_path: Path) -> None:
    endpoint = egress_host.open(Egress((), requests_max=1), tmp_path, None)
    opened = 0
    for _ in range(5_000):
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(endpoint.socket))
            except OSError:
                break
            opened += 1
            with suppress(OSError):
                connection.sendall(b"x\r\n\r\n")
                connection.recv(100)
    assert opened < 3_000
    endpoint.finish()


def test_a_record_claims_no_credential_in_a_tunnel(egress_host: EgressHost, tmp_path: Path) -> None:
    server = Raw(b"")
    rule = here(server.port, tunnel=True, credential=_KEY)
    asked = f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nTOKEN\r\n\r\n".encode()
    _, records = ask(egress_host, tmp_path, Egress((rule,)), asked, b"nonsense that is no TLS")
    assert [(record.outcome, record.credential) for record in records] == [("cut", False)]
    assert server.got == b""
