"""A machine's home by the name that a node is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from choir.doors.sdk.homes import name_of
from choir.foundation.errors import ChoirError

NODE = "http://localhost:8420"


def test_a_home_has_one_name_at_each_node_and_no_other_home_has_it(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    names = [name_of(here, address) for address in ("http://127.0.0.1:8420", NODE, "http://[::1]:8420/")]
    assert len(set(names)) == 1
    others = {name_of(here, "http://localhost:8421"), name_of(here, "https://choir.example"), name_of(there, NODE)}
    assert len(others | set(names)) == 4
    secret = here / "home.secret"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.read_text() not in names[0]


def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    name_of(tmp_path / "home", NODE)
    (tmp_path / "home" / "home.secret").chmod(0o644)
    with pytest.raises(ChoirError):
        name_of(tmp_path / "home", NODE)
