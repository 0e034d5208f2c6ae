"""The stop flag: raised by signals that come at any moment, also many at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from choir.operations.shutdown import StopFlag

STORM = """
import os, signal, threading, time
from choir.operations.shutdown import StopFlag
for _ in range(300):
    flag = StopFlag()
    signal.signal(signal.SIGTERM, lambda *_: flag.set())
    threading.Thread(target=lambda: [os.kill(os.getpid(), signal.SIGTERM) for _ in range(20)]).start()
    while not flag.wait(0.0001):
        pass
    assert flag.wait(0) and flag.is_set()
print("through")
"""


def test_a_storm_of_signals_does_not_block_who_waits() -> None:
    done = subprocess.run([sys.executable, "-c", STORM], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "through\n"


def test_it_is_seen_by_a_waiting_thread_and_stays() -> None:
    flag = StopFlag()
    assert not flag.wait(0.01)
    threading.Timer(0.05, flag.set).start()
    assert flag.wait(30)
    assert flag.wait(None)
    assert flag.is_set()


def test_a_signal_raises_it() -> None:
    flag = StopFlag()
    before = signal.signal(signal.SIGUSR1, lambda *_: flag.set())
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert flag.wait(30)
    finally:
        signal.signal(signal.SIGUSR1, before)
