"""A node of its own for measuring the HTTP door, with people, agents and every kind of credential on it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen
from uuid import UUID

from coincurve import PrivateKey

from choir.foundation.clock import MICROSECONDS
from choir.foundation.settings import load_settings
from choir.identity.credentials.nostr import HTTP_AUTH_KIND
from choir.identity.credentials.passkeys import ShownPasskey
from choir.identity.delegations.model import Cap, Period
from choir.identity.delegations.rules import new_id
from choir.identity.model import ALL_SCOPES, Principal, Role, Scope, person_owner
from choir.ledger.model import Draft, Leg
from choir.node import Node, build_node
from choir.nostr.events import event_id
from choir.storage.database import Database
from choir.storage.embedded.previous import Places, serving_pid
from choir.storage.postgres import running_server

CLI = "choir.doors.cli.main"
WORKER = b"choir.doors.http.worker"
_START_S_MAX = 120.0
_STOP_S_MAX = 60.0
_MINT = "system:bench/issuance/SAT"
_FUNDS = 10**12
_DAY_S = 86_400


class Town:
    """A running node and what its callers hold."""

    def __init__(self, home: Path, extra: dict[str, str]) -> None:
        self.port = _free_port()
        own = {"CHOIR_HOME": str(home), "CHOIR_BIND": f"127.0.0.1:{self.port}", "CHOIR_LOG_FORMAT": "text"}
        self.url = f"http://localhost:{self.port}"
        environment = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(home.parent),
            "CHOIR_PUBLIC_URL": self.url,
            **own,
            **extra,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", CLI, "up"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        _wait_until(lambda: _answers(self.port) or self._process.poll() is not None)
        if self._process.poll() is not None:
            raise RuntimeError("the node for the benchmark did not start")
        self._home = home
        server = running_server(home)
        assert server is not None
        self.node: Node = build_node(load_settings({}, environment), Database(server.dsn("choir_app")).open())
        self.operator = (home / "operator.token").read_text().strip()
        self._fill()

    def close(self) -> None:
        self.node.close()
        self._process.terminate()
        self._process.wait(_STOP_S_MAX)

    def worker_cpu_s(self) -> float:
        """What the node's server processes have used so far."""
        return sum(_cpu_s(pid) for pid in _children(self._process.pid) if WORKER in _command(pid))

    def database_cpu_s(self) -> float:
        """What PostgreSQL's processes that live now have used so far."""
        server = serving_pid(Places.of(self._home))
        return 0.0 if server is None else sum(_cpu_s(pid) for pid in [server, *_children(server)])

    def signed(self, method: str, path: str, number: int, body: bytes = b"") -> str:
        """An Authorization header that is good once (NIP-98)."""
        tags = [("u", self.url + path), ("method", method), ("n", str(number))]
        tags += [("payload", hashlib.sha256(body).hexdigest())] if body else []
        created = int(self.node.clock.now_us() // MICROSECONDS)
        public = self._public
        id_ = event_id(public, created, HTTP_AUTH_KIND, tuple(tags), "")
        event = {
            "id": id_.hex(), "pubkey": public.hex(), "created_at": created, "kind": HTTP_AUTH_KIND,
            "tags": [list(tag) for tag in tags], "content": "", "sig": self._key.sign_schnorr(id_, bytes(32)).hex(),
        }  # fmt: skip
        return "Nostr " + base64.b64encode(json.dumps(event).encode()).decode()

    def _fill(self) -> None:
        node = self.node
        expires_us = node.clock.now_us() + 10 * _DAY_S * MICROSECONDS
        self.person, self.friend = self._person("ada"), self._person("bob")
        self.account = f"{person_owner(self.person)}/available/SAT"
        self._key = PrivateKey(node.entropy.bytes(32))
        self._public = self._key.public_key_xonly.format()
        by = Principal(
            Role.PERSON, person_owner(self.person), person=self.person, scopes=ALL_SCOPES,
            fresh_until_us=2**62, credential="session",
        )  # fmt: skip
        with node.unit_of_work() as tx:
            token = node.tokens.for_person(tx, by, name="bench", scopes={Scope.READ, Scope.BUY}, expires_us=expires_us)
            agent = node.agents.create(tx, self.person, "bench", nostr_key=self._public)
            caps = (Cap("SAT", Period.DAY, _FUNDS),)
            granted = node.delegations.grant(
                tx, self.person, agent.id, scopes={Scope.READ, Scope.BUY}, caps=caps, expires_us=expires_us
            )
            delegated = node.tokens.for_delegation(
                tx, by, granted.id, name="bench", scopes={Scope.READ, Scope.BUY}, expires_us=expires_us - MICROSECONDS
            )
            self.session = node.sessions.start(tx, ShownPasskey(self.person, self._passkey, node.clock.now_us())).token
            node.accounts.open(tx, [_MINT, self.account], reason="benchmark", source="benchmark")
            node.ledger.post(
                tx, Draft("transfer", "benchmark", "benchmark", "funds", (Leg(_MINT, self.account, _FUNDS),))
            )
        self.token, self.delegated = token.text.reveal(), delegated.text.reveal()

    def _person(self, handle: str) -> UUID:
        """A person with a passkey, without the ceremony."""
        node = self.node
        now_us = node.clock.now_us()
        id_ = new_id(now_us, node.entropy.bytes(8))
        self._passkey = node.entropy.bytes(32)
        with node.unit_of_work() as tx:
            tx.run(
                "insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, %s)",
                id_, handle, node.entropy.bytes(32), now_us,
            )  # fmt: skip
            tx.run(
                "insert into passkeys (id, person, name, public_key, sign_count, backed_up, created_us)"
                " values (%s, %s, 'bench', %s, 0, false, %s)",
                self._passkey, id_, node.entropy.bytes(77), now_us,
            )  # fmt: skip
        return id_


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_S_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("the node for the benchmark did not start in time")
        time.sleep(0.1)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _cpu_s(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
