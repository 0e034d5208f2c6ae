"""The treasury on the command line: what it shows, and that two operators decide on a production node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from choir.foundation.clock import SystemClock
from choir.treasury import months
from tests.operations.nodes import Done, NodeUnderTest, new_node


@pytest.fixture(scope="module")
def bank() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        yield node.up()


def say(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None) -> Done:
    done = node.run("treasury", *command, env=env)
    assert done.code == 0, done.err
    return done


def read(node: NodeUnderTest, *command: str, env: dict[str, str] | None = None) -> Any:
    return say(node, *command, "--json", env=env).json


def test_the_rate_and_how_it_came_about(bank: NodeUnderTest) -> None:
    month = months.month_of(SystemClock().now_us())
    shown = say(bank, "rate")
    assert shown.out.startswith(f"{month}  5.000000 USDC per citation\n  budget    7500.000000 USDC")
    assert "choir treasury explain" in shown.err
    assert say(bank, "rate", "--month", month).out == shown.out
    assert read(bank, "rate")["rate"] == "5000000"
    told = say(bank, "explain").out
    assert "5000000.000000 CHIP × 0.500000 USDC × 30 % = 750000.000000 USDC" in told
    assert "7500.000000 ÷ 1500 = 5.000000 USDC, at most 20.000000 USDC" in told
    assert told.splitlines() == read(bank, "explain")["sentences"]
    assert month in say(bank, "history").out
    assert [item["month"] for item in read(bank, "history", "--limit", "1")] == [month]


def test_what_is_refused(bank: NodeUnderTest) -> None:
    later = months.before(months.month_of(SystemClock().now_us()), -1)
    for code, command in (
        (1, ("rate", "--month", later)),
        (1, ("rate", "--month", "November")),
        (1, ("price", "--set", "0.9", "--reason", "hope")),
        (2, ("price", "--set", "0.5")),
        (2, ("price", "--set", "half", "--reason", "hope")),
        (2, ("price", "--set", "0.5", "--reason", "hope", "--approve", "price_x")),
        (2, ("fund", "0", "--reason", "hope")),
        (2, ("fund", "1")),
    ):
        done = bank.run("treasury", *command, "--json")
        assert (done.code, done.out) == (code, ""), (command, done.err)
        assert "Traceback" not in done.err


def test_the_price_and_the_pool(bank: NodeUnderTest) -> None:
    assert say(bank, "price", "--set", "0.52", "--reason", "sales of October").out.startswith("price_")
    shown = say(bank, "price").out.splitlines()
    assert shown[0].startswith("0.520000 USDC for one CHIP (governed, ")
    assert shown[1].endswith('0.520000 USDC, set, by operator: "sales of October"')
    assert read(bank, "price")["history"][0]["price"] == "520000"
    first = say(bank, "fund", "12.5", "--reason", "income", "--key", "one").out
    assert first.startswith("12.500000 USDC are in the citation pool, by entry_")
    assert "nothing new was posted" in say(bank, "fund", "12.5", "--reason", "income", "--key", "one").out
    assert say(bank, "pool").out.startswith(
        "balance  12.500000 USDC\nowed     0.000000 USDC\nspent    0.000000 USDC in "
    )
    assert read(bank, "pool")["balance"] == "12500000"


def test_two_operators_decide_in_production() -> None:
    with new_node(CHOIR_MODE="production") as node:
        node.up()
        grace = {"CHOIR_TOKEN": node.run("operator", "add", "grace", "--json").json["token"]}
        proposed = say(node, "fund", "5", "--reason", "income")
        id_ = proposed.out.split(" as ")[1].split(".")[0]
        assert say(node, "pool").out.startswith("balance  0.000000 USDC")
        assert node.run("ledger", "issue", "approve", id_, env=grace).code == 0
        assert say(node, "pool").out.startswith("balance  5.000000 USDC")
        asked = say(node, "price", "--set", "0.55", "--reason", "sales")
        price = asked.out.split()[0]
        assert f"choir treasury price --approve {price}" in asked.err
        assert read(node, "price")["price"] == "500000"
        alone = node.run("treasury", "price", "--approve", price, "--json")
        assert (alone.code, json.loads(alone.err)["error"]["code"]) == (1, "treasury.price.needs_another")
        assert read(node, "price", "--approve", price, env=grace)["state"] == "set"
        assert read(node, "price")["price"] == "550000"
