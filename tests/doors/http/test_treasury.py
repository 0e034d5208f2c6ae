"""The treasury over HTTP and in the SDK: rates, prices, the pool, and who may change them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from choir.doors.shapes import Problem
from choir.foundation.clock import SystemClock
from choir.foundation.errors import Invalid
from choir.identity.model import OperatorNeeded
from choir.sdk import AsyncClient, Client
from choir.treasury import months
from choir.treasury.oracle.model import PriceEnded, PriceMovesTooFar, UnknownPrice
from choir.treasury.rates.model import NoRate, RateNotYet
from tests.doors.http.visitors import Browser, client, key
from tests.operations.nodes import NodeUnderTest, new_node


@pytest.fixture(scope="module")
def bank() -> Iterator[NodeUnderTest]:
    """A node of these tests' own: others fund pools and move prices too."""
    with new_node() as node:
        yield node.up()


def test_the_rate_of_this_month(bank: NodeUnderTest) -> None:
    month = months.month_of(SystemClock().now_us())
    with bank.client() as operator:
        rate = operator.treasury.rate()
        assert (rate.month, rate.rate) == (month, "5000000")
        assert operator.treasury.rate(month) == rate
        assert (rate.inputs["holdings_chip"], rate.inputs["price_stale"]) == ("5000000000000", False)
        assert (rate.figures["budget"], rate.figures["impact"]) == ("7500000000", "1500000000")
        assert "5000000.000000 CHIP × 0.500000 USDC × 30 %" in " ".join(rate.sentences)
        assert list(operator.treasury.rates(limit=1)) == [rate]
        with pytest.raises(RateNotYet):
            operator.treasury.rate(months.before(month, -1))
        with pytest.raises(NoRate):
            operator.treasury.rate(months.before(month))
        with pytest.raises(Invalid):
            operator.treasury.rate("November")


def test_a_person_reads_and_changes_nothing(served: NodeUnderTest, ada: Browser) -> None:
    with Client(served.url, ada.make_token("read")["secret"]) as person:
        assert int(person.treasury.rate().rate) >= 0
        assert int(person.treasury.price().price) > 0
        assert int(person.treasury.pool().balance) >= 0
        for refused in (
            lambda: person.treasury.set_price(500_000, reason="a test"),
            lambda: person.treasury.fund(1, reason="a test"),
            lambda: person.treasury.approve_price("price_" + "0" * 26),
        ):
            with pytest.raises(OperatorNeeded):
                refused()
    with client(served) as nobody:
        for path in ("rate", "rates", "price", "pool"):
            assert nobody.get(f"/v1/treasury/{path}").status_code == 200
        assert nobody.get("/v1/treasury/prices").status_code == 401  # it names operators


def test_the_governed_price(bank: NodeUnderTest) -> None:
    with bank.client() as operator:
        before = operator.treasury.price()
        assert (before.source, before.stale) == ("governed", False)
        first = operator.treasury.set_price(520_000, reason="sales of October", key="one")
        assert (first.state, first.approved_by) == ("set", "operator")
        assert operator.treasury.set_price(520_000, reason="sales of October", key="one") == first
        assert operator.treasury.price().price == "520000"
        with pytest.raises(PriceMovesTooFar, match=r"between 0\.468000 and 0\.550000"):
            operator.treasury.set_price(600_000, reason="hope")
        with pytest.raises(UnknownPrice):
            operator.treasury.approve_price("price_" + "0" * 26)
        assert operator.treasury.approve_price(first.id) == first  # they have, by setting it
        assert [item.price for item in operator.treasury.prices(limit=1)] == ["520000", "500000"]
        start = list(operator.treasury.prices())[-1]
        with pytest.raises(PriceEnded):
            operator.treasury.approve_price(start.id)


def test_the_pool_is_funded_once_for_a_key(bank: NodeUnderTest) -> None:
    with bank.client() as operator, bank.http() as http:
        before = int(operator.treasury.pool().balance)
        first = operator.treasury.fund(7_000_000, reason="income", key="two")
        again = operator.treasury.fund(7_000_000, reason="income", key="two")
        assert first.posted is not None
        assert again.posted is not None
        assert (first.posted.id, again.posted.again, first.issuance) == (again.posted.id, True, None)
        pool = operator.treasury.pool()
        assert (int(pool.balance) - before, pool.owed, pool.spent) == (7_000_000, "0", "0")
        for amount in ("0", "-1", "1.5", "x"):
            answer = http.post("/v1/treasury/funds", json={"amount": amount, "reason": "a test"}, headers=key())
            assert answer.status_code == 422
            assert Problem.model_validate(answer.json()).code == "money.out_of_range"
        for reason in ("a\x00b", "x" * 201):
            for path, body in (("prices", {"price": "520000"}), ("funds", {"amount": "1"})):
                answer = http.post(f"/v1/treasury/{path}", json=body | {"reason": reason}, headers=key())
                assert answer.status_code == 422, answer.text


def test_to_be_awaited(bank: NodeUnderTest) -> None:
    async def ask() -> None:
        async with AsyncClient(bank.url, bank.token) as operator:
            assert (await operator.treasury.rate()).figures
            assert (await operator.treasury.pool()).month
            assert [item async for item in operator.treasury.rates()]

    asyncio.run(ask())
