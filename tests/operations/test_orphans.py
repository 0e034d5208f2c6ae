"""Server processes whose node was killed end by themselves, whatever their requests wait for."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import httpx
import pytest

from choir.storage.embedded.previous import Places
from choir.storage.processes import processes_of
from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund, new_node, until
from tests.storage.servers import exists

ENTRY = {"reason": "a test", "legs": [{"from": ADA, "to": BOB, "amount": "1"}]}
END_S_MAX = 6.0  # two seconds by design; the rest is for a busy machine


class Load:
    """Threads that read and write for as long as somebody answers."""

    def __init__(self, node: NodeUnderTest) -> None:
        self._node = node
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(6)]
        for thread in self._threads:
            thread.start()

    def _call(self, number: int) -> None:
        with self._node.http() as http:
            for count in range(10**9):
                if self._stop.is_set():
                    return
                try:
                    http.post("/v1/entries", json=ENTRY, headers={"Idempotency-Key": f"{number}-{count}"})
                    http.get("/v1/entries")
                except httpx.TransportError:
                    self._stop.wait(0.1)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)


def _must_end(workers: list[int]) -> None:
    assert workers, "there was nobody to end"
    until(lambda: not any(map(exists, workers)), END_S_MAX)  # raises if they do not


@pytest.mark.deep
def test_workers_under_load_end_soon_after_their_node_was_killed() -> None:
    with new_node(CHOIR_PROCESSES="2") as node:
        fund(node.up(), amount=10**9)
        load = Load(node)
        try:
            for _ in range(2):
                until(lambda: len(node.workers()) == 2)
                threading.Event().wait(0.5)
                workers = node.workers()
                node.kill()
                _must_end(workers)
                node.up()
        finally:
            load.stop()


def test_workers_end_although_the_database_neither_answers_nor_goes_away() -> None:
    with new_node(CHOIR_PROCESSES="2") as node:
        fund(node.up(), amount=10**9)
        until(lambda: len(node.workers()) == 2)
        load = Load(node)
        places = Places.of(node.home)
        database = processes_of(places.data, places.token)
        workers = node.workers()
        try:
            for pid in database:
                os.kill(pid, signal.SIGSTOP)
            threading.Event().wait(0.5)
            node.kill()
            _must_end(workers)
        finally:
            for pid in database:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            load.stop()
        node.up()  # the next start clears away what a killed one left
