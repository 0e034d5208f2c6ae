"""Known secrets that are put into a node are in no log, error, metric, database dump, export or backup listing."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from choir.identity.keys.nostr_keys import nsec
from choir.storage.embedded.binaries import installed_programs
from tests.doors.http.visitors import (
    Browser,
    begin_login,
    client,
    done,
    event_header,
    key,
    new_nostr_key,
    new_verifier,
    origin,
    program,
    serve,
)
from tests.operations.nodes import NodeUnderTest, new_node

_LEAST = 8  # shorter pieces are found by chance


class Told:
    """Everything that a node ever answered with an error, and the secrets it was told or gave out."""

    def __init__(self, node: NodeUnderTest) -> None:
        self.node = node
        self.errors: list[str] = []
        self.secrets: dict[str, str] = {}

    def note(self, name: str, secret: str) -> str:
        assert len(secret) >= _LEAST
        self.secrets[name] = secret
        return secret

    def fail(self, answer: httpx.Response) -> None:
        """A request that carries secrets and is refused."""
        assert answer.status_code >= 400, answer.text
        self.errors.append(answer.text + str(answer.headers))


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with new_node() as node:
        serve(node)
        told = Told(node)
        _live(told)
        yield told


def _live(told: Told) -> None:
    """Everything that has a secret, once with success and once with a refusal that had it in hand."""
    node = told.node
    told.note("operator token", node.token)
    told.note("node secret", (node.home / "node.key").read_text().strip())
    ada = Browser(node).sign_up()
    told.note("session token", ada.token)
    for n, code in enumerate(ada.codes):
        told.note(f"recovery code {n}", code)
    _passkeys(told, ada)
    _tokens(told, ada)
    _keys(told, ada)
    _login(told, ada)
    with client(node, Authorization=f"Bearer {node.token}x") as http:
        told.fail(http.get("/v1/trial-balance"))
    with client(node, Cookie=f"choir_session={ada.token}", Origin="https://evil.example") as http:
        told.fail(http.post("/v1/agents", json={"name": "x"}))
    told.note("second session", ada.another().token)


def _passkeys(told: Told, ada: Browser) -> None:
    told.fail(ada.http.post("/v1/recovery/begin", json={"handle": ada.handle, "code": ada.codes[0] + "9"}))
    told.fail(ada.http.post("/v1/recovery/begin", json={"handle": ada.handle, "code": [ada.codes[1]]}))
    told.fail(ada.http.post("/v1/recovery/begin", content=f'{{"code": "{ada.codes[2]}"', headers=_JSON))
    begun = ada.begin("recovery", handle=ada.handle, code=ada.codes[3])
    thief = Browser(told.node).made(begun, origin="https://evil.example")
    told.fail(ada.http.post("/v1/recovery/finish", json=thief))
    body = ada.shown(ada.begin("me/confirm"))
    told.note("assertion", body["answer"]["response"]["signature"])
    done(ada.http.post("/v1/me/confirm/finish", json=body))
    told.fail(ada.http.post("/v1/me/confirm/finish", json=body))


def _tokens(told: Told, ada: Browser) -> None:
    secret = told.note("API token", ada.make_token("read")["secret"])
    with program(told.node, secret) as http:
        done(http.get("/v1/me"))
        told.fail(http.get("/v1/trial-balance"))
        told.fail(http.get("/v1/explain/nothing"))
    with program(told.node, secret + "0") as http:
        told.fail(http.get("/v1/me"))
    told.fail(ada.http.post("/v1/tokens", json={"name": secret * 5, "scopes": ["read"], "days": 1}))


def _keys(told: Told, ada: Browser) -> None:
    phrase = told.note("phrase", done(ada.http.post("/v1/keys", json={}, headers=key()), 201)["phrase"])
    told.fail(ada.http.post("/v1/keys/restore", json={"phrase": phrase + " zoo"}))
    told.fail(ada.http.post("/v1/keys/restore", json={"phrase": phrase, "account": -1}))
    done(ada.http.post("/v1/keys/restore", json={"phrase": phrase, "account": 1}), 201)
    brought = new_nostr_key()
    told.note("brought key", brought.reveal().hex())
    told.note("brought key as nsec", nsec(brought))
    done(ada.http.post("/v1/keys/bring", json={"secret": nsec(brought)}), 201)
    told.fail(ada.http.post("/v1/keys/bring", json={"secret": brought.reveal().hex() + "00"}))
    told.fail(ada.http.post("/v1/keys/bring", json={"secret": nsec(brought)[:-1]}))
    told.fail(ada.http.post("/v1/keys/bring", json={"secret": nsec(brought), "owner": "person:x"}))
    header = event_header(brought, "GET", f"{origin(told.node)}/v1/me")
    with client(told.node, Authorization=header) as http:
        assert done(http.get("/v1/me"))["credential"] == "nostr"
        told.fail(http.get("/v1/me"))


def _login(told: Told, ada: Browser) -> None:
    verifier, challenge = new_verifier()
    told.note("login verifier", verifier)
    path = f"/v1/logins/{begin_login(told.node, challenge)['login']}"
    with client(told.node) as http:
        told.fail(http.post(f"{path}/token", json={"verifier": verifier[:-1] + "!"}))
        told.fail(http.post(f"{path}x/token", json={"verifier": verifier}))
        done(ada.http.post(f"{path}/approve"))
        told.note("token of a login", done(http.post(f"{path}/token", json={"verifier": verifier}))["secret"])
        told.fail(http.post(f"{path}/token", json={"verifier": verifier}))


_JSON = {"Content-Type": "application/json"}


def _forms(secret: str) -> list[str]:
    """A secret as it may turn up: as it is, in hex, in base64, as bytes of a dump."""
    forms = [secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode().rstrip("=")]
    if len(secret) == 64 and all(letter in "0123456789abcdef" for letter in secret):
        raw = bytes.fromhex(secret)
        forms += [base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("=")]
    if "-" in secret and len(secret) == 29:  # a recovery code as it is typed
        forms.append(secret.replace("-", ""))
    if secret.count(" ") >= 11:  # a phrase: half of it gives the rest away
        words = secret.split()
        forms += [" ".join(words[start : start + 4]) for start in range(len(words) - 3)]
    return forms


def _must_not_be_in(text: str, told: Told, where: str) -> None:
    lower = text.lower()
    for name, secret in told.secrets.items():
        for form in _forms(secret):
            assert form.lower() not in lower, f"the {name} is in {where}"


def test_no_secret_is_in_the_log(told: Told) -> None:
    said = told.node.said
    assert '"route": "/v1/keys/bring"' in said  # it is the log of all this
    _must_not_be_in(said, told, "the log")
    for path in told.node.home.rglob("*.log"):
        _must_not_be_in(path.read_text(errors="replace"), told, str(path))


def test_no_secret_is_in_an_error(told: Told) -> None:
    assert len(told.errors) >= 20
    for error in told.errors:
        _must_not_be_in(error, told, "an error")


def test_no_secret_is_in_the_metrics(told: Told) -> None:
    with client(told.node) as http:
        _must_not_be_in(http.get("/metrics").text, told, "the metrics")


def test_no_secret_is_in_a_dump_of_the_database(told: Told) -> None:
    dump = subprocess.run(
        [installed_programs().path("pg_dump"), "--format=plain", told.node.dsn("postgres")],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert "COPY public.api_tokens" in dump
    assert "COPY public.account_keys" in dump
    _must_not_be_in(dump, told, "the dump")


def test_no_secret_is_in_an_export_or_the_audit(told: Told, tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    exported = told.node.run("ledger", "export", str(file))
    assert exported.code == 0, exported.err
    _must_not_be_in(file.read_text(), told, "the export")
    _must_not_be_in(exported.out + exported.err, told, "what the export said")
    shown = told.node.run("config", "show")
    _must_not_be_in(shown.out + shown.err, told, "the shown settings")


def test_the_search_finds_what_is_there(told: Told) -> None:
    """Else all of the above would prove nothing."""
    with pytest.raises(AssertionError, match="session token"):
        _must_not_be_in(f"x{told.secrets['session token']}y", told, "a log")
    with pytest.raises(AssertionError, match="phrase"):
        _must_not_be_in(" ".join(told.secrets["phrase"].split()[3:8]), told, "a log")
