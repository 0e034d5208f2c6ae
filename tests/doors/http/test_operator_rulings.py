"""The operator's pages with something on them: disputes, challenges, issuances, prices and takedowns."""

from __future__ import annotations

import pytest

from tests.doors.http import market
from tests.doors.http.market import order, verdict
from tests.doors.http.press import WritersDesk, writer
from tests.doors.http.test_operator_sessions import HTML, office
from tests.doors.http.visitors import client, done, fund, key
from tests.operations.nodes import NodeUnderTest

HOSTILE = "<img src=x onerror=alert(1)>"
SHOWN = "&lt;img src=x onerror=alert(1)&gt;"


@pytest.mark.slow
def test_a_dispute_is_shown_whole_and_ruled_on(served: NodeUnderTest) -> None:
    buyer, seller = market.buyer(served), market.seller(served)
    with market.inside(served) as inside:
        job = order(buyer, seller, strategy={**seller.pinned, "attempts": 1})
        inside.work(seller, job["attempts"][0]["id"], verdict())
        doubt = {"trigger": "output_irrelevant", "statement": f"It answers another question. {HOSTILE}"}
        opened = done(buyer.http.post(f"/v1/jobs/{job['id']}/disputes", json=doubt), 201)
        inside.under_review(opened["id"], verdict())
    browser = office(served)
    shown = browser.get("/operator/rulings", headers=HTML).text
    assert HOSTILE not in shown
    for expected in (SHOWN, f"@{buyer.handle}", f"@{seller.browser.handle}", "Output irrelevant", opened["id"]):
        assert expected in shown
    ruling = {"winner": "buyer", "reasoning": "It does not answer."}
    assert done(browser.post(f"/v1/disputes/{opened['id']}/rulings", json=ruling))["winner"] == "buyer"
    assert opened["id"] not in browser.get("/operator/rulings", headers=HTML).text


@pytest.mark.slow
def test_a_challenge_is_shown_whole_and_ruled_on(served: NodeUnderTest) -> None:
    desk, challenger = WritersDesk(writer(served, 10_000)), writer(served, 500)
    article = desk.article()
    desk.publish(article["id"])
    version = desk.wait(article["id"], "promoted")
    body = {"atom": version["synthesis"], "ground": "misleading", "statement": f"It leaves out the rest. {HOSTILE}"}
    opened = done(challenger.http.post("/v1/challenges", json=body, headers=key()), 201)
    browser = office(served, served.run("operator", "add", "judith", "--json").json["token"])
    shown = browser.get("/operator/rulings", headers=HTML).text
    assert HOSTILE not in shown
    for expected in (SHOWN, f"@{challenger.handle}", "Misleading", opened["id"]):
        assert expected in shown
    ruling = {"upheld": True, "reasoning": "It is not there."}
    decided = done(browser.post(f"/v1/challenges/{opened['id']}/rulings", json=ruling))
    assert (decided["state"], decided["rulings"][0]["operator"]) == ("won", "operator:judith")
    assert opened["id"] not in browser.get("/operator/rulings", headers=HTML).text
    served.run("operator", "remove", "judith")
    # Everybody reads what was decided, and not by whom.
    for path in (f"/v1/challenges/{opened['id']}", f"/v1/atoms/{version['synthesis']}"):
        told = client(served).get(path)
        assert (told.status_code, "judith" in told.text, '"operator"' in told.text) == (200, False, True), path


def test_money_and_takedowns_are_shown(served: NodeUnderTest) -> None:
    browser, person = office(served), writer(served, 100)
    fund(served, person.owner, 5_000, "SAT")
    leg = {"from": "system:node/issuance/SAT", "to": f"{person.owner}/available/SAT", "amount": "12500"}
    proposed = browser.post("/v1/issuances", json={"reason": HOSTILE, "legs": [leg]}, headers=key())
    assert proposed.status_code in (200, 201), proposed.text
    price = browser.post("/v1/treasury/prices", json={"price": "510000", "reason": "a test"}, headers=key())
    assert price.status_code in (200, 201), price.text
    assert browser.post("/v1/liabilities").status_code in (200, 201, 202)
    shown = browser.get("/operator/money", headers=HTML).text
    assert HOSTILE not in shown
    for expected in (SHOWN, "12.5 SAT", "$0.51", person.owner):
        assert expected in shown
    article = WritersDesk(person).create(f"# {HOSTILE}\n\nNothing.")["id"]
    body = {"subject": article, "category": "abuse", "reason": HOSTILE}
    done(browser.post("/v1/takedowns", json=body), 201)
    shown = browser.get("/operator/takedowns", headers=HTML).text
    assert (HOSTILE in shown, SHOWN in shown) == (False, True)
