"""A writer process for the kill tests: posts streams of requests and notes every acknowledgement.

`python -m tests.operations.kill_writer HOME NOTES STREAMS`. Two such processes send the same streams
with the same keys. A killed one goes on a little before where its notes end.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from choir.foundation.errors import Unavailable
from choir.foundation.settings import load_settings
from choir.ledger.model import Draft, Leg
from choir.node import Node, build_node
from choir.storage.database import Database
from choir.storage.postgres import Server

PAYER = "person:ada/available/CREDIT"
PAYEE = "person:bob/available/CREDIT"
_BACK = 5  # requests that a killed writer sends again although it noted their acknowledgement
_PAUSE_S = 0.004


def request(key: str) -> Draft:
    """The one request that belongs to a key."""
    return Draft("transfer", "a test", "writer", key, (Leg(PAYER, PAYEE, amount_of(key)),))


def amount_of(key: str) -> int:
    return 1 + int(key.rpartition("-")[2]) % 7


def last_noted(notes: Path) -> int:
    lines = notes.read_text().splitlines() if notes.exists() else []
    whole = [line.split() for line in lines if line.count(" ") == 4]
    return max((int(words[1].rpartition("-")[2]) for words in whole if words[0] == "acknowledged"), default=0)


def opened(home: Path) -> Node:
    """A node on the home's database, however long that takes to come back."""
    settings = load_settings({"home": str(home)}, {})
    dsn = Server(home / "postgres" / "socket", 0).dsn("choir_app")
    while True:
        try:
            return build_node(settings, Database(dsn, wait_s=5).open())
        except Unavailable:
            time.sleep(0.05)


def write(node: Node, notes: Path, stream: str) -> None:
    number = max(0, last_noted(notes) - _BACK)
    with notes.open("a") as out:
        while True:
            number += 1
            key = f"{stream}-{number}"
            out.write(f"sent {key}\n")
            out.flush()
            posted = None
            while posted is None:
                try:
                    [posted] = node.submitter.submit(request(key))
                except Unavailable:
                    time.sleep(0.02)
            out.write(f"acknowledged {key} {posted.id} {posted.hash.hex()} {posted.seq}\n")
            out.flush()
            time.sleep(_PAUSE_S)


def main() -> None:
    home, notes, streams = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(",")
    node = opened(home)
    threads = [
        threading.Thread(target=write, args=(node, notes.with_name(f"{notes.name}.{stream}"), stream), daemon=True)
        for stream in streams
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
