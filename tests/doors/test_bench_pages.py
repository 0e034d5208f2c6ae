"""The benchmark of the pages: every page it measures is answered well, and none is heavy. Nothing is timed here."""

from __future__ import annotations

import pytest

from choir.benchmarks.pages import PERSON, STRANGER, Size, run

_KB = 1000


@pytest.mark.deep
def test_a_tiny_run_measures_every_page() -> None:
    said: list[str] = []
    told = run(Size(rounds=1, requests=4, visitors=2, crowd=4, clients=1), None, said.append)
    pages = told["pages"]
    assert pages.keys() == {"empty", *(f"stranger {path}" for path in STRANGER), *(f"person {path}" for path in PERSON)}
    for name, found in pages.items():
        if name != "empty":
            assert 0 < found["script_and_style_bytes"] < 100 * _KB, name
            assert 0 < found["bytes"] < 200 * _KB, name
    assert told["crowd"]["failed"] == 0
    assert told["crowd"]["served"] + told["crowd"]["refused"] == 8
    assert said
