"""What pages share to show much at once: amounts, names, charts, and notices that something changed."""

from __future__ import annotations

import time

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.doors.web import charts
from choir.doors.web.names import in_words
from choir.doors.web.rendering import money, short, typed
from tests.doors.townsfolk import neighbour
from tests.operations.nodes import NodeUnderTest


@pytest.mark.parametrize(
    ("units", "asset", "told"),
    [
        (0, "SAT", "0 SAT"),
        (1_234_567, "SAT", "1,234.567 SAT"),
        (100_000_000, "SAT", "100,000 SAT"),
        (4_500_000, "USDC", "$4.50"),
        (1, "USDC", "$0.000001"),
        (-1_234_500_000, "USDC", "-$1,234.50"),
        (-500, "SAT", "-0.5 SAT"),
        (250_000_000, "CHIP", "250 CHIP"),
        (1050, "USD", "$10.50"),
    ],
)
def test_amounts_as_people_write_them(units: int, asset: str, told: str) -> None:
    assert money(units, asset) == told


@given(st.integers(-(2**63), 2**63 - 1))
def test_no_amount_loses_a_unit(units: int) -> None:
    whole, _, fraction = typed(units, "CHIP").replace(",", "").replace("-", "").partition(".")
    assert int(whole) * 10**6 + int(fraction.ljust(6, "0")) == abs(units)


def test_owners_without_a_name_are_told_in_words() -> None:
    assert in_words("treasury:main") == "the treasury"
    assert in_words("person:01m7gr0mrzfvrt6hj3z7rvgar4") == "person …gar4"
    assert short("sha256:" + "ab" * 32) == "sha256:ababab…ababab"
    assert short("job_1") == "job_1"


@given(st.lists(st.integers(0, 2**70), max_size=400))
def test_charts_stay_inside_their_picture(values: list[int]) -> None:
    points = [charts.Point(str(n), value, str(value)) for n, value in enumerate(values)]
    for made in (charts.bars("Money", "SAT", points), charts.line("Money", "SAT", points)):
        assert len(made.marks) == len(values)
        assert len(made.labels) <= 6
        assert made.empty == (not any(values))
        for mark in made.marks:
            assert 0 <= mark.x <= mark.x + mark.width <= charts.WIDTH
            assert 0 <= mark.y <= mark.y + mark.height <= charts.HEIGHT


def test_only_public_topics_can_be_followed(running: NodeUnderTest) -> None:
    for topics in ("identity", "bazaar.job,identity", "", "*", "bazaar.job,"):
        assert httpx.get(f"{running.url}/live", params={"topics": topics}, trust_env=False).status_code == 404


def test_a_notice_says_that_something_happened_and_not_what(running: NodeUnderTest) -> None:
    heard: list[str] = []
    with httpx.stream("GET", f"{running.url}/live", params={"topics": "treasury"}, timeout=20, trust_env=False) as told:
        assert told.headers["content-type"].startswith("text/event-stream")
        lines = told.iter_lines()
        assert next(lines).startswith("retry: ")
        with neighbour(running, "listener"):
            pass  # signing up is of another topic
        time.sleep(1)  # it follows by then
        assert running.run("--operator", "treasury", "price", "--set", "0.52", "--reason", "a test").code == 0
        for line in lines:
            if line.startswith(("event:", "data:")):
                heard.append(line)
            if len(heard) == 2:
                break
    assert heard == ["event: changed", "data: {}"]
