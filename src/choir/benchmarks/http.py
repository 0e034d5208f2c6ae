"""`choir bench http`: what authentication, delegation and durable writes cost over HTTP, as ratios within one run.

It starts a node of its own in a temporary folder and asks it in turns: an empty route, the same read with every
kind of credential, and idempotent writes. `docs/benchmarks.md` says what each number means.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from choir.benchmarks.http_client import Clients, Outcome
from choir.benchmarks.http_town import Town
from choir.benchmarks.measurement import Rate, latency
from choir.identity.model import person_owner

Progress = Callable[[str], None]
Make = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    rounds: int
    requests: int  # of each kind in a round
    connections: int
    clients: int = 2  # processes
    server_processes: int = 1


FULL = Size(rounds=5, requests=1_600, connections=32)
QUICK = Size(rounds=3, requests=600, connections=32)


@dataclass
class Series:
    """The rounds of one kind of request."""

    rates: list[float] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)
    server_us: list[float] = field(default_factory=list)  # of processor time for one request
    database_us: list[float] = field(default_factory=list)
    client_us: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, float]:
        rate = Rate(statistics.median(self.rates), min(self.rates), max(self.rates))
        cpu = {"server_us": self.server_us, "database_us": self.database_us, "client_us": self.client_us}
        return {
            **rate.as_json(),
            **latency(self.samples).as_json(),
            **{name: round(statistics.median(values)) for name, values in cpu.items()},
        }


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as top:
        extra = {
            "CHOIR_PROCESSES": str(size.server_processes),
            "CHOIR_POLICY__DELEGATIONS__SIGNED_REQUEST_S": "600",  # a round's requests are signed beforehand
        }
        say("Starting a node of its own.")
        town = Town(Path(top, "home"), extra)
        clients = Clients(town.port, size.clients)
        try:
            return _measure(town, clients, size, say)
        finally:
            clients.close()
            town.close()


def _measure(town: Town, clients: Clients, size: Size, say: Progress) -> dict[str, Any]:
    kinds = kinds_of(town)
    series = {name: Series() for name in kinds}
    numbers = iter(range(10**12))
    for round_ in range(size.rounds + 1):
        say(f"Round {round_} of {size.rounds}{' (warming up)' if round_ == 0 else ''}.")
        for name, make in kinds.items():
            requests = _requests(make, numbers, size)
            server, database = town.worker_cpu_s(), town.database_cpu_s()
            outcome = clients.send(requests)
            used = town.worker_cpu_s() - server, town.database_cpu_s() - database
            _must_succeed(name, outcome)
            if round_ > 0:
                note(series[name], outcome, *used)
    told = {name: found.as_json() for name, found in series.items()}
    return {"size": asdict(size), "requests": told, "ratios": ratios(told)}


def _requests(make: Make, numbers: Iterator[int], size: Size) -> list[list[bytes]]:
    each = size.requests // size.connections
    return [[make(next(numbers)) for _ in range(each)] for _ in range(size.connections)]


def _must_succeed(name: str, outcome: Outcome) -> None:
    bad = {status: count for status, count in outcome.statuses.items() if status not in (200, 201)}
    if bad:
        raise RuntimeError(f"{name} was answered with {bad}")


def note(series: Series, outcome: Outcome, server_s: float, database_s: float) -> None:
    """Add what one round was like."""
    count = sum(outcome.statuses.values())
    series.rates.append(count / outcome.elapsed_s)
    series.samples += outcome.samples
    series.server_us.append(1e6 * server_s / count)
    series.database_us.append(1e6 * database_s / count)
    series.client_us.append(1e6 * outcome.cpu_s / count)


def kinds_of(town: Town) -> dict[str, Make]:
    """Every kind of request, as a function from a number to its bytes."""
    balance = f"/v1/balance?account={town.account}"
    cookie = f"Cookie: choir_session={town.session}"
    bearer = "Authorization: Bearer "
    friend = person_owner(town.friend)
    pay = {"from": person_owner(town.person), "to": friend, "asset": "SAT", "amount": "1"}
    entry = {
        "reason": "benchmark",
        "legs": [{"from": town.account, "to": f"{friend}/available/SAT", "amount": "1"}],
    }
    _open(town, f"{friend}/available/SAT")
    return {
        "empty": lambda _: get("/healthz"),
        "read_operator": lambda _: get(balance, bearer + town.operator),
        "read_session": lambda _: get(balance, cookie),
        "read_token": lambda _: get(balance, bearer + town.token),
        "read_delegated": lambda _: get(balance, bearer + town.delegated),
        "read_signed": lambda n: get(balance, f"Authorization: {town.signed('GET', balance, n)}"),
        "write_operator": lambda n: _post("/v1/entries", entry, n, bearer + town.operator),
        "write_again": lambda n: _post("/v1/entries", entry, n % 100, bearer + town.operator),
        "write_token": lambda n: _post("/v1/transfers", pay, n, bearer + town.token),
        "write_delegated": lambda n: _post("/v1/transfers", pay, n, bearer + town.delegated),
    }


def _open(town: Town, account: str) -> None:
    with town.node.unit_of_work() as tx:
        town.node.accounts.open(tx, [account], reason="benchmark", source="benchmark")


def get(path: str, *headers: str) -> bytes:
    """The bytes of a request."""
    return _request("GET", path, headers, b"")


def _post(path: str, body: dict[str, Any], number: int, *headers: str) -> bytes:
    given = (*headers, f"Idempotency-Key: {number}", "Content-Type: application/json")
    return _request("POST", path, given, json.dumps(body).encode())


def _request(method: str, path: str, headers: tuple[str, ...], body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def ratios(told: dict[str, dict[str, float]]) -> dict[str, float]:
    """Rates as a part of the empty route's, and of what a request costs, which part is the credential's."""
    rate = {name: found["per_second"] for name, found in told.items()}
    cost = {name: found["server_us"] + found["database_us"] for name, found in told.items()}

    def share(name: str, without: str) -> float:
        return round(max(0.0, 1 - cost[without] / max(1.0, cost[name])), 3)  # a tiny run may cost no tick at all

    return {
        **{f"{name}_of_empty": round(rate[name] / rate["empty"], 3) for name in rate if name != "empty"},
        "session_share": share("read_session", "read_operator"),
        "token_share": share("read_token", "read_operator"),
        "signed_share": share("read_signed", "read_operator"),
        "delegation_share_of_read": share("read_delegated", "read_token"),
        "delegation_share_of_write": share("write_delegated", "write_token"),
    }
