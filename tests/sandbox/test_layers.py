"""Where layers are kept: whole or not at all, whatever happens to who builds, uses and collects them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from choir.sandbox.layers.model import LayerInUse
from choir.sandbox.layers.shelf import LayerShelf, WaitCancelled

NAMES = [f"sha256:{digit * 64}" for digit in "0123456789"]
# A process that builds a layer slowly: it says when it has begun, and waits to be killed or let go.
_BUILDER = """
import sys, time
from pathlib import Path
from choir.sandbox.layers.shelf import LayerShelf
shelf, name = LayerShelf(Path(sys.argv[1])), sys.argv[2]
def build(into):
    (into / "env").mkdir(); (into / "tree").mkdir()
    (into / "env" / "half").write_text("half")
    print("building", flush=True); sys.stdin.readline()
    return {"bytes": 4, "files": 1, "content": "sha256:" + "c" * 64}
with shelf.use(name, build):
    print("using", flush=True); sys.stdin.readline()
"""


def filled(size: int = 10) -> Any:
    def build(into: Path) -> dict[str, Any]:
        (into / "env").mkdir()
        (into / "tree").mkdir()
        (into / "env" / "file").write_bytes(b"x" * size)
        return {"bytes": size, "files": 1, "content": f"sha256:{size:064x}"}

    return build


def never(_: Path) -> dict[str, Any]:
    raise AssertionError("it was there already")


def started(shelf: LayerShelf, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _BUILDER, str(shelf.home), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def shelf(tmp_path: Path) -> LayerShelf:
    return LayerShelf(tmp_path / "environments")


def test_a_layer_is_built_once_and_found_again(shelf: LayerShelf) -> None:
    with shelf.use(NAMES[0], filled()) as layer:
        assert (layer.room / "file").stat().st_size == 10
    with LayerShelf(shelf.home).use(NAMES[0], never) as again:
        assert again.content == layer.content
    assert [item.name for item in shelf.all()] == [NAMES[0]]
    assert shelf.home.stat().st_mode & 0o077 == 0


def test_a_build_that_fails_leaves_nothing(shelf: LayerShelf) -> None:
    def fails(into: Path) -> dict[str, Any]:
        (into / "env").mkdir()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError), shelf.use(NAMES[0], fails):
        pass
    assert shelf.all() == []
    assert list((shelf.home / "building").iterdir()) == []
    with shelf.use(NAMES[0], filled()):
        pass


def test_a_builder_killed_in_the_middle_leaves_no_half_layer(shelf: LayerShelf) -> None:
    process = started(shelf, NAMES[0])
    assert said(process) == "building"
    assert shelf.find(NAMES[0]) is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list((shelf.home / "building").iterdir()) != []
    with shelf.use(NAMES[0], filled()) as layer:
        assert [path.name for path in layer.room.iterdir()] == ["file"]
    assert list((shelf.home / "building").iterdir()) == []


def test_what_a_killed_builder_left_is_cleared_by_whoever_cleans(shelf: LayerShelf) -> None:
    dead, alive = started(shelf, NAMES[0]), started(shelf, NAMES[1])
    assert said(dead) == said(alive) == "building"
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    assert shelf.clean() == 1
    assert [path.name[:1] for path in (shelf.home / "building").iterdir()] == ["1"]
    assert alive.stdin is not None
    alive.stdin.write("go\n")
    alive.stdin.flush()
    assert said(alive) == "using"
    alive.kill()
    alive.wait()


def test_two_processes_that_want_the_same_layer_build_it_once(shelf: LayerShelf) -> None:
    process = started(shelf, NAMES[0])
    assert said(process) == "building"
    found: list[str] = []

    def wait() -> None:
        with shelf.use(NAMES[0], never) as layer:
            found.append(layer.content)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert said(process) == "using"
    waiting.join(30)
    assert found == [f"sha256:{'c' * 64}"]
    process.kill()
    process.wait()


def test_whoever_waits_for_a_builder_can_be_stopped(shelf: LayerShelf) -> None:
    process = started(shelf, NAMES[0])
    assert said(process) == "building"
    with pytest.raises(WaitCancelled), shelf.use(NAMES[0], never, lambda: True):
        pass
    process.kill()
    process.wait()


def test_a_layer_in_use_by_another_process_is_neither_removed_nor_collected(shelf: LayerShelf) -> None:
    process = started(shelf, NAMES[0])
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert [said(process), said(process)] == ["building", "using"]
    with pytest.raises(LayerInUse):
        shelf.remove(NAMES[0])
    assert shelf.collect(0, 0) == []
    process.kill()
    process.wait()
    assert shelf.collect(0, 0) == [NAMES[0]]
    assert shelf.remove(NAMES[0]) is False


def test_those_unused_for_longest_go_first(shelf: LayerShelf) -> None:
    for place, name in enumerate(NAMES[:4]):
        with shelf.use(name, filled(100)):
            pass
        os.utime(shelf.home / "locks" / name[7:], (1000 + place, 1000 + place))
    with shelf.use(NAMES[0], never):  # used again, just now
        pass
    assert shelf.collect(250, 100) == [NAMES[1], NAMES[2]]
    assert {item.name for item in shelf.all()} == {NAMES[0], NAMES[3]}
    assert shelf.collect(10**9, 1) == [NAMES[3]]


def test_building_and_collecting_at_once_never_shows_half_a_layer(shelf: LayerShelf) -> None:
    stop = time.monotonic() + 3
    errors: list[BaseException] = []

    def use(place: int) -> None:
        try:
            while time.monotonic() < stop:
                with shelf.use(NAMES[place], filled(50)) as layer:
                    assert (layer.room / "file").read_bytes() == b"x" * 50
                    assert layer.facts["bytes"] == 50
        except BaseException as error:
            errors.append(error)

    def collect() -> None:
        try:
            while time.monotonic() < stop:
                shelf.collect(0, 0)
                shelf.clean()
                shelf.all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=use, args=(place % 2,)) for place in range(4)]
    threads += [threading.Thread(target=collect) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_what_is_no_layer_is_not_listed(shelf: LayerShelf) -> None:
    broken = shelf.home / "layers" / ("f" * 64)
    broken.mkdir()
    (broken / "layer.json").write_text("{")
    assert shelf.all() == []
    (broken / "layer.json").write_text(json.dumps({"bytes": 1}))
    assert shelf.find(f"sha256:{'f' * 64}") is None  # nobody ever held its lock
