"""`choir bench pages`: what each page costs the server and the reader, against the empty route in the same run.

It starts a node of its own and visits every page in turns, as a stranger and as a signed-in person, by 32 visitors at
once. Then more visitors than a node takes come at the same time: refusals are counted, and afterwards the first round
is repeated to see that the node is as fast as before. `docs/benchmarks.md` says what each number means.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from choir.benchmarks.http import Series, get, note
from choir.benchmarks.http_client import Clients, Outcome
from choir.benchmarks.http_town import Town
from choir.benchmarks.measurement import latency

Progress = Callable[[str], None]

STRANGER = ("/", "/hall", "/providers", "/articles", "/search?q=tides", "/treasury", "/ledger", "/docs")
PERSON = ("/", "/hall", "/hall/order", "/selling", "/desk", "/account", "/account/statement", "/agents", "/tokens")
_BUSIEST = "/hall"
_FILE = re.compile(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"')
_IMPORT = re.compile(r'from "\./([^"]+)"')
_GOOD = 200
_REFUSED = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    rounds: int
    requests: int  # of each page in a round
    visitors: int = 32
    crowd: int = 600  # who come at the same time, to see what happens beyond
    clients: int = 2  # processes


FULL = Size(rounds=5, requests=640)
QUICK = Size(rounds=2, requests=192)


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as top:
        say("Starting a node of its own.")
        town = Town(Path(top, "home"), {})
        clients = Clients(town.port, size.clients)
        try:
            return _measure(town, clients, size, say)
        finally:
            clients.close()
            town.close()


def _measure(town: Town, clients: Clients, size: Size, say: Progress) -> dict[str, Any]:
    requests = _requests(town)
    series = {name: Series() for name in requests}
    for round_ in range(size.rounds + 1):
        say(f"Round {round_} of {size.rounds}{' (warming up)' if round_ == 0 else ''}.")
        for name, request in requests.items():
            server, database = town.worker_cpu_s(), town.database_cpu_s()
            outcome = _visit(clients, request, size.visitors, size.requests // size.visitors)
            _must_succeed(name, outcome)
            if round_ > 0:
                note(series[name], outcome, town.worker_cpu_s() - server, town.database_cpu_s() - database)
    pages = {name: _told(name, found, series["empty"]) for name, found in series.items()}
    for name in pages:
        if name != "empty":
            pages[name] |= _weight(town, name)
    say("More visitors than a node takes.")
    return {"size": asdict(size), "pages": pages, "crowd": _crowd(clients, requests, size)}


def _requests(town: Town) -> dict[str, bytes]:
    """Each page by a name that says who looks."""
    cookie = f"Cookie: choir_session={town.session}"
    strangers = {f"stranger {path}": get(path, "Accept: text/html") for path in STRANGER}
    people = {f"person {path}": get(path, "Accept: text/html", cookie) for path in PERSON}
    return {"empty": get("/healthz"), **strangers, **people}


def _visit(clients: Clients, request: bytes, visitors: int, each: int) -> Outcome:
    return clients.send([[request] * each for _ in range(visitors)])


def _must_succeed(name: str, outcome: Outcome) -> None:
    if set(outcome.statuses) != {_GOOD}:
        raise RuntimeError(f"{name} was answered with {outcome.statuses}")


def _told(name: str, found: Series, empty: Series) -> dict[str, float]:
    told = found.as_json()
    if name != "empty":
        told["times_empty"] = round(told["server_us"] / max(1.0, empty.as_json()["server_us"]), 1)
    return told


def _weight(town: Town, name: str) -> dict[str, int]:
    """Bytes of the page itself, and of the scripts and styles that it asks for, imports included."""
    who, _, path = name.partition(" ")
    headers = {"Accept": "text/html"} | ({"Cookie": f"choir_session={town.session}"} if who == "person" else {})
    page = _fetch(f"{town.url}{path}", headers)
    waiting, seen = set(_FILE.findall(page.decode())), dict[str, int]()
    while waiting:
        address = waiting.pop()
        body = _fetch(f"{town.url}{address}", {})
        seen[address] = len(body)
        beside = {f"{address.rpartition('/')[0]}/{imported}" for imported in _IMPORT.findall(body.decode())}
        waiting |= beside - seen.keys()
    return {"bytes": len(page), "script_and_style_bytes": sum(seen.values())}


def _fetch(url: str, headers: dict[str, str]) -> bytes:
    with urlopen(Request(url, headers=headers), timeout=60) as answer:  # noqa: S310 - our own node
        body: bytes = answer.read()
        return body


def _crowd(clients: Clients, requests: dict[str, bytes], size: Size) -> dict[str, Any]:
    """What a crowd gets, and what a visitor gets afterwards."""
    request = requests[f"stranger {_BUSIEST}"]
    crowd = _visit(clients, request, size.crowd, 2)
    after = _visit(clients, request, size.visitors, size.requests // size.visitors)
    _must_succeed("after the crowd", after)
    refused = sum(count for status, count in crowd.statuses.items() if status in _REFUSED)
    served = crowd.statuses.get(_GOOD, 0)
    return {
        "visitors": size.crowd,
        "served": served,
        "refused": refused,
        "failed": sum(crowd.statuses.values()) - served - refused,
        **latency(crowd.samples).as_json(),
        "afterwards": latency(after.samples).as_json(),
    }
