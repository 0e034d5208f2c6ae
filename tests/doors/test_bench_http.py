"""The benchmark of the HTTP door: every kind of request it measures is answered well. Nothing is timed here."""

from __future__ import annotations

import pytest

from choir.benchmarks.http import Size, run


@pytest.mark.deep
def test_a_tiny_run_measures_every_kind() -> None:
    said: list[str] = []
    told = run(Size(rounds=1, requests=16, connections=4, clients=1), None, said.append)
    kinds = {"empty", "read_operator", "read_session", "read_token", "read_delegated", "read_signed"}
    assert told["requests"].keys() == kinds | {"write_operator", "write_again", "write_token", "write_delegated"}
    assert all(found["per_second"] > 0 for found in told["requests"].values())
    assert {"token_share", "delegation_share_of_write", "read_token_of_empty"} <= told["ratios"].keys()
    assert said
