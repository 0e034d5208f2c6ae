"""User ids of sandboxes: nobody shares one, and holding them leaves next to nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from choir.sandbox.uids import NoUidLeft, UidPool


def test_no_id_is_given_twice_and_each_comes_back(tmp_path: Path) -> None:
    one, other = UidPool(5000, 16, tmp_path / "uids"), UidPool(5000, 16, tmp_path / "uids")
    held = [pool.take() for _ in range(8) for pool in (one, other)]
    assert sorted(item.uid for item in held) == list(range(5000, 5016))
    with pytest.raises(NoUidLeft):
        one.take()
    assert other.try_take(5003) is None
    held[0].release()
    again = other.take()
    assert again.uid == held[0].uid
    for item in (*held[1:], again):
        item.release()
    one.close()
    other.close()


def test_a_thousand_ids_are_held_by_one_file(tmp_path: Path) -> None:
    pool = UidPool(5000, 1000, tmp_path / "uids")
    for _ in range(1000):
        pool.take().release()
    assert len(list((tmp_path / "uids").iterdir())) <= 2
    pool.close()


def test_the_id_of_a_dead_holder_is_free_and_that_of_a_live_one_is_not(tmp_path: Path) -> None:
    pool = UidPool(5000, 16, tmp_path / "uids")
    read, write = os.pipe()
    end, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go)
        UidPool(5000, 16, tmp_path / "uids").try_take(5001)
        os.write(write, b"x")
        os.read(end, 1)
        os._exit(0)
    os.read(read, 1)
    assert pool.try_take(5001) is None
    os.close(go)
    os.waitpid(child, 0)
    held = pool.try_take(5001)
    assert held is not None
    held.release()
    pool.close()
    for fd in (read, write, end):
        os.close(fd)
