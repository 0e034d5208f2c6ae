"""Challenges over HTTP: what the verifiers decide, what operators rule, what each costs, and what cannot be doubted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.doors.http.commons_table import NO_HASH
from tests.doors.http.market import all_pages
from tests.doors.http.press import CHIP, WritersDesk, add, writer
from tests.doors.http.visitors import Browser, Json, balance, done, key, refused
from tests.operations.nodes import NodeUnderTest, until

RULING = {"upheld": True, "reasoning": "The figure is of another year."}


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 10_000)


@pytest.fixture(scope="module")
def desk(author: Browser) -> WritersDesk:
    return WritersDesk(author)


@pytest.fixture
def version(desk: WritersDesk) -> Json:
    """One that is promoted."""
    article = str(desk.article(topics=["engineering"])["id"])
    desk.publish(article)
    return desk.wait(article, "promoted")


@pytest.fixture
def challenger(served: NodeUnderTest) -> Browser:
    return writer(served, 500)


@pytest.fixture(scope="module")
def operator(served: NodeUnderTest) -> Iterator[httpx.Client]:
    with served.http() as http:
        yield http


def bindings(who: Browser, version: Json) -> list[str]:
    found = done(who.http.get(f"/v1/atoms/{version['synthesis']}"))["rests_on"]
    return [item["hash"] for item in found if item["kind"] == "BINDING"]


def asked(who: Browser, atom: str, ground: str, **more: object) -> httpx.Response:
    body = {"atom": atom, "ground": ground, "statement": "It is wrong.", **more}
    return who.http.post("/v1/challenges", json=body, headers=key())


def decided(who: Browser, challenge: Json, *states: str) -> Json:
    where = f"/v1/challenges/{challenge['id']}"
    until(lambda: done(who.http.get(where))["state"] in states)
    found: Json = done(who.http.get(where))
    return found


def test_what_the_verifiers_can_decide_they_decide(
    served: NodeUnderTest, author: Browser, challenger: Browser, version: Json
) -> None:
    before = balance(served, f"{challenger.owner}/available/CHIP")
    opened = done(asked(challenger, bindings(author, version)[0], "number"), 201)
    assert (opened["kind"], opened["article"], opened["challenger"]) == (
        "BINDING",
        version["article"],
        challenger.owner,
    )
    lost = decided(challenger, opened, "lost", "won")
    assert (lost["state"], lost["rulings"]) == ("lost", [])
    assert {item["check"] for item in lost["findings"]} >= {"numbers", "dates", "span", "snapshot"}
    own = before - balance(served, f"{challenger.owner}/available/CHIP")
    assert 0 < own <= 45 * CHIP  # half of the stake; the starter's part of it is no loss of one's own
    assert done(author.http.get(f"/v1/articles/{version['article']}"))["state"] == "promoted"
    again = asked(challenger, bindings(author, version)[0], "number")
    refused(again, 409, "commons.ground_taken")


def test_what_only_people_can_decide_an_operator_rules(
    served: NodeUnderTest, author: Browser, challenger: Browser, version: Json, operator: httpx.Client
) -> None:
    where, once = "/v1/challenges", key()
    body = {"atom": version["synthesis"], "ground": "misleading", "statement": "It  leaves\u202e out the calm days.\0"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: challenger.http.post(where, json=body, headers=once), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    opened = answers[0].json()
    assert opened["statement"] == "It leaves out the calm days."
    refused(challenger.http.post(where, json=body | {"ground": "other"}, headers=once), 409, "identity.key_reused")
    waiting = decided(challenger, opened, "under_review")
    assert waiting["decided_at"] is None
    assert opened["id"] in [item["id"] for item in all_pages(operator, where, 1, to_rule="true")]
    retract = author.http.post(f"/v1/articles/{version['article']}/retraction", json={"reason": "too late"})
    refused(retract, 409, "commons.challenge_open")
    rulings = f"{where}/{opened['id']}/rulings"
    refused(challenger.http.post(rulings, json=RULING), 403, "identity.operator_needed")
    ruled = done(operator.post(rulings, json=RULING))
    assert (ruled["state"], ruled["reasoning"]) == ("won", RULING["reasoning"])
    assert [(item["operator"], item["upheld"]) for item in ruled["rulings"]] == [("operator", True)]
    refused(operator.post(rulings, json=RULING), 409, "commons.challenge_over")
    fallen = done(challenger.http.get(f"/v1/articles/{version['article']}/versions"))["items"][0]
    assert (fallen["state"], fallen["stake_due_at"]) == ("demoted", None)
    assert done(challenger.http.get(f"/v1/atoms/{version['synthesis']}"))["atom"]["state"] == "QUARANTINED"
    mine = [item["id"] for item in all_pages(challenger.http, where, 1, mine="true")]
    assert mine == [opened["id"]]
    of_article = done(author.http.get(where, params={"article": version["article"]}))["items"]
    assert [item["id"] for item in of_article] == [opened["id"]]


def test_a_contradiction_needs_evidence_and_retracts(
    challenger: Browser, author: Browser, version: Json, operator: httpx.Client
) -> None:
    binding = bindings(author, version)[0]
    refused(asked(challenger, binding, "contradicted"), 422, "commons.bad_ground")
    source = add(challenger.http, "A later survey says that 12 of the 120 bridges vibrated.")["hash"]
    opened = done(asked(challenger, binding, "contradicted", evidence=[f"{source}@0-30"]), 201)
    decided(challenger, opened, "under_review")
    done(operator.post(f"/v1/challenges/{opened['id']}/rulings", json=RULING))
    found = done(challenger.http.get(f"/v1/atoms/{binding}"))["atom"]
    assert found["state"] == "RETRACTED"
    assert done(challenger.http.get(f"/v1/articles/{version['article']}"))["state"] == "retracted"


def test_what_cannot_be_challenged(served: NodeUnderTest, author: Browser, desk: WritersDesk, version: Json) -> None:
    challenger = writer(served, 500)
    binding = bindings(author, version)[0]
    refused(asked(author, binding, "number"), 403, "commons.own_article")
    refused(asked(challenger, NO_HASH, "number"), 404, "commons.atom_unknown")
    refused(asked(challenger, desk.claim, "other"), 404, "commons.atom_unknown")  # an author's private claim
    own = WritersDesk(challenger).claim
    refused(asked(challenger, own, "other"), 409, "commons.not_challengeable")
    refused(asked(challenger, version["synthesis"], "number"), 422, "commons.bad_ground")
    refused(asked(challenger, binding, "copied", evidence=[f"{NO_HASH}@0-9"]), 404, "commons.source_unknown")
    refused(asked(writer(served, 0), binding, "number"), 409, "commons.too_little_chip")
    for ground, more in (
        ("rain", {}),
        ("number", {"statement": ""}),
        ("number", {"statement": "\0"}),
        ("number", {"statement": "x" * 4_001}),
        ("number", {"atom": "sha256:zz"}),
        ("number", {"atom": "z" * 71}),
        ("number", {"evidence": "x"}),
    ):
        body = {"atom": binding, "ground": ground, "statement": "x", **more}
        refused(challenger.http.post("/v1/challenges", json=body), 422, "invalid")
    for pointer in ("x", f"{desk.source}@0-99999999999999", f"{desk.source}@5-5"):
        refused(asked(challenger, binding, "number", evidence=[pointer]), 422, "commons.bad_pointer")
    with challenger.program("read", "publish") as program:
        body = {"atom": binding, "ground": "number", "statement": "x"}
        refused(program.post("/v1/challenges", json=body), 403, "identity.scope_missing")
    assert done(challenger.http.get("/v1/challenges", params={"mine": "true"}))["items"] == []


def test_what_is_no_challenge_or_ruling(challenger: Browser, operator: httpx.Client) -> None:
    unknown = "challenge_" + "0" * 26
    refused(challenger.http.get(f"/v1/challenges/{unknown}"), 404, "commons.challenge_unknown")
    refused(operator.post(f"/v1/challenges/{unknown}/rulings", json=RULING), 404, "commons.challenge_unknown")
    refused(challenger.http.get("/v1/challenges/challenge_x"), 422, "invalid")
    for params in ({"article": "x"}, {"cursor": "article_" + "0" * 26}, {"mine": "perhaps"}):
        refused(challenger.http.get("/v1/challenges", params=params), 422, "invalid")
    for body in ({}, RULING | {"upheld": "x"}, RULING | {"reasoning": ""}, RULING | {"reasoning": "x" * 10_001}):
        refused(operator.post(f"/v1/challenges/{unknown}/rulings", json=body), 422, "invalid")
    refused(operator.post(f"/v1/challenges/{unknown}/rulings", json=RULING | {"reasoning": "\0"}), 422, "invalid")
