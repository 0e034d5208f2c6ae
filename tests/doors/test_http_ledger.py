"""The ledger over HTTP, against a running node: every route, and every refusal leaves the journal as it was."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from choir.doors.http.paging import page_rows
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.policy import PAGE_ROWS_MOST, describe
from choir.ledger.policy import LedgerPolicy
from choir.policies import default_policy
from tests.auditor import verifier
from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund, new_node

EVE = "person:eve/available/CREDIT"
ADA_SAT = "person:ada/available/SAT"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def funded() -> Iterator[NodeUnderTest]:
    """A running node on which Ada has money and Bob has an account."""
    with new_node() as node:
        fund(node.up())
        yield node


@pytest.fixture
def http(funded: NodeUnderTest) -> Iterator[httpx.Client]:
    with funded.http() as client:
        yield client


def key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def entry(payer: str = ADA, payee: str = BOB, amount: str = "1", **more: Any) -> dict[str, Any]:
    return {"reason": "a test", "legs": [{"from": payer, "to": payee, "amount": amount}], **more}


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is a whole problem with this code."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    shown: dict[str, Any] = answer.json()
    assert shown["code"] == code, shown
    assert shown["status"] == status
    assert shown["type"]
    assert shown["title"]
    assert shown["detail"].strip()
    assert shown["request"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    return shown


def test_accounts_are_opened_listed_frozen_and_closed(http: httpx.Client) -> None:
    opened = http.post("/v1/accounts", json={"name": EVE})
    assert opened.status_code == 201
    assert opened.json() == {"name": EVE, "asset": "CREDIT", "state": "open", "balance": "0"}
    assert http.post("/v1/accounts", json={"name": EVE}).json() == opened.json()
    listed = http.get("/v1/accounts", params={"prefix": "person:eve"}).json()
    assert [item["name"] for item in listed["items"]] == [EVE]
    for act, state in (("freeze", "frozen"), ("unfreeze", "open"), ("close", "closed")):
        done = http.post(f"/v1/accounts/{act}", json={"name": EVE, "reason": "a test"})
        assert done.status_code == 200
        assert done.json()["state"] == state
    problem(http.post("/v1/entries", json=entry(payee=EVE), headers=key()), 409, "ledger.account.closed")
    problem(http.post("/v1/accounts", json={"name": EVE}), 409, "ledger.account.closed")
    problem(http.post("/v1/accounts/burn", json={"name": EVE, "reason": "x"}), 422, "invalid")


def test_unfreezing_brings_home_what_could_not_be_paid(http: httpx.Client) -> None:
    home, claim = "person:mallory/available/CREDIT", "person:mallory/claim/CREDIT"
    for name in (home, claim):
        http.post("/v1/accounts", json={"name": name})
    for act in ("freeze", "close"):
        shown = problem(
            http.post(f"/v1/accounts/{act}", json={"name": claim, "reason": "x"}), 409, "ledger.account.claim_stays"
        )
        assert shown["detail"]
    http.post("/v1/accounts/freeze", json={"name": home, "reason": "x"})
    assert http.post("/v1/entries", json=entry(payee=claim, amount="7"), headers=key()).status_code == 201
    unfrozen = http.post("/v1/accounts/unfreeze", json={"name": home, "reason": "x"})
    assert (unfrozen.json()["state"], unfrozen.json()["balance"]) == ("open", "7")
    assert http.get("/v1/balance", params={"account": claim}).json()["balance"] == "0"


def test_listings_are_read_page_by_page(http: httpx.Client) -> None:
    names = [f"person:page{n}/available/CREDIT" for n in range(5)]
    for name in names:
        http.post("/v1/accounts", json={"name": name})
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = http.get("/v1/accounts", params={"prefix": "person:page", "limit": 2, "cursor": cursor}).json()
        assert len(page["items"]) <= 2
        found += [item["name"] for item in page["items"]]
        cursor = page["next"]
    assert found == names
    full = http.get("/v1/accounts", params={"prefix": "person:page", "limit": 5}).json()
    assert (len(full["items"]), full["next"]) == (5, None)
    assert http.post("/v1/entries", json=entry(), headers=key()).status_code == 201  # so that there are two
    first = http.get("/v1/entries", params={"limit": 1}).json()
    assert [item["seq"] for item in first["items"]] == [1]
    assert first["next"] == "1"


def test_an_entry_is_posted_once_and_read_back(http: httpx.Client) -> None:
    once = key()
    before = int(http.get("/v1/balance", params={"account": BOB}).json()["balance"])
    posted = http.post("/v1/entries", json=entry(amount="25"), headers=once)
    assert posted.status_code == 201
    again = http.post("/v1/entries", json=entry(amount="25"), headers=once)
    assert again.status_code == 200
    assert again.json() == posted.json() | {"again": True}
    read = http.get(f"/v1/entries/{posted.json()['id']}").json()
    assert read["hash"] == posted.json()["hash"]
    assert read["content"]["legs"] == [{"amount": "25", "from": ADA, "to": BOB}]
    assert int(http.get("/v1/balance", params={"account": BOB}).json()["balance"]) == before + 25
    past = http.get("/v1/balance", params={"account": BOB, "at_seq": posted.json()["seq"] - 1}).json()
    assert int(past["balance"]) == before
    then = http.get("/v1/balance", params={"account": BOB, "at_time": posted.json()["at"]}).json()
    assert int(then["balance"]) == before + 25
    statement = http.get("/v1/statement", params={"account": BOB, "limit": 1000}).json()
    assert statement["items"][-1]["entry"] == posted.json()["id"]
    assert statement["items"][-1]["delta"] == "25"
    assert http.get("/v1/trial-balance").json()["balanced"] is True


def test_a_memo_is_kept_beside_the_journal_and_repeats_like_the_rest(http: httpx.Client) -> None:
    once = key()
    posted = http.post("/v1/entries", json=entry(memo="for the cake"), headers=once)
    assert posted.status_code == 201, posted.text
    again = http.post("/v1/entries", json=entry(memo="for the cake"), headers=once)
    assert again.json() == posted.json() | {"again": True}
    other = http.post("/v1/entries", json=entry(memo="for the pie"), headers=once)
    problem(other, 409, "ledger.conflicting_key")
    read = http.get(f"/v1/entries/{posted.json()['id']}").json()
    assert read["memo"] == "for the cake"
    assert "cake" not in json.dumps(read["content"])


def test_an_entry_that_is_known_already_is_not_sent_again(http: httpx.Client) -> None:
    path = f"/v1/entries/{http.post('/v1/entries', json=entry(), headers=key()).json()['id']}"
    tag = http.get(path).headers["etag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        known = http.get(path, headers={"If-None-Match": given})
        assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
    assert http.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    head = http.head(path)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", tag)


def test_a_batch_answers_for_each_entry(http: httpx.Client) -> None:
    one, two, three = (uuid.uuid4().hex for _ in range(3))
    body = {
        "entries": [
            entry(amount="3", key=one),
            entry(payer=BOB, payee=ADA, amount=str(2**62), key=two),
            entry(amount="4", key=three, link="both"),
            entry(amount="5", key=two, link="both"),
        ]
    }
    results = http.post("/v1/entries/batch", json=body).json()["results"]
    assert results[0]["posted"]["again"] is False
    assert results[1]["problem"]["code"] == "ledger.insufficient_funds"
    assert results[1]["problem"]["status"] == 409
    assert results[2]["posted"]["seq"] + 1 == results[3]["posted"]["seq"]
    again = http.post("/v1/entries/batch", json=body).json()["results"]
    assert again[0]["posted"] == results[0]["posted"] | {"again": True}


def test_an_entry_that_cannot_be_written_down_spoils_only_its_own_group(http: httpx.Client) -> None:
    one, two, three, four = (uuid.uuid4().hex for _ in range(4))
    body = {
        "entries": [
            entry(key=one),
            entry(key=two, amount=str(2**63)),
            entry(key=three, link="both"),
            entry(key=four, link="both", receipt="sha256:xx"),
        ]
    }
    results = http.post("/v1/entries/batch", json=body).json()["results"]
    assert results[0]["posted"]["again"] is False
    assert [item["problem"]["code"] for item in results[1:]] == [
        "money.out_of_range",
        "ledger.linked_refused",
        "invalid",
    ]


def test_a_hold_is_placed_captured_and_released(http: httpx.Client) -> None:
    once = key()
    body = {"payer": ADA, "amount": "100", "expires_at": "2027-01-01T00:00:00Z", "captures": 2, "reason": "a job"}
    placed = http.post("/v1/holds", json=body, headers=once)
    assert placed.status_code == 201, placed.text
    assert http.post("/v1/holds", json=body, headers=once).status_code == 200
    hold = placed.json()["hold"]["id"]
    capture = {"legs": [{"to": BOB, "amount": "30"}], "final": False, "reason": "half"}
    captured = key()
    first = http.post(f"/v1/holds/{hold}/capture", json=capture, headers=captured)
    assert first.status_code == 200, first.text
    assert http.post(f"/v1/holds/{hold}/capture", json=capture, headers=captured).json()["again"] is True
    assert http.get(f"/v1/holds/{hold}").json()["remaining"] == "70"
    assert http.post(f"/v1/holds/{hold}/release", json={"reason": "over"}, headers=key()).status_code == 200
    assert http.get(f"/v1/holds/{hold}").json()["closed"] is True
    late = http.post(f"/v1/holds/{hold}/capture", json=capture, headers=key())
    problem(late, 409, "ledger.hold.closed")


def test_a_hold_for_some_seconds_ends_by_the_nodes_clock_and_can_be_repeated(http: httpx.Client) -> None:
    once, now = key(), parse_time(http.get("/v1/node").json()["now"])
    body = {"payer": ADA, "amount": "7", "expires_in_s": 600, "reason": "a job"}
    placed = http.post("/v1/holds", json=body, headers=once)
    assert placed.status_code == 201, placed.text
    end = parse_time(placed.json()["hold"]["expires_at"])
    assert now + 600 * MICROSECONDS <= end <= parse_time(placed.json()["posted"]["at"]) + 600 * MICROSECONDS
    again = http.post("/v1/holds", json=body, headers=once)
    assert again.status_code == 200, again.text
    assert again.json()["posted"] == placed.json()["posted"] | {"again": True}
    assert again.json()["hold"] == placed.json()["hold"]
    other = http.post("/v1/holds", json=body | {"amount": "8"}, headers=once)
    problem(other, 409, "ledger.conflicting_key")
    spent = key()
    assert http.post("/v1/entries", json=entry(), headers=spent).status_code == 201
    problem(http.post("/v1/holds", json=body, headers=spent), 409, "ledger.conflicting_key")


def test_of_many_equal_holds_for_some_seconds_at_once_there_is_one(funded: NodeUnderTest) -> None:
    once = key()
    body = {"payer": ADA, "amount": "9", "expires_in_s": 600, "reason": "a job"}

    def place(_: int) -> tuple[int, str]:
        with funded.http() as client:
            answer = client.post("/v1/holds", json=body, headers=once)
        return answer.status_code, answer.json()["hold"]["expires_at"]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(place, range(8)))
    assert sorted(status for status, _ in found) == [200] * 7 + [201]
    assert len({end for _, end in found}) == 1


def test_proofs_verify_without_choir(http: httpx.Client, funded: NodeUnderTest, tmp_path: Path) -> None:
    node_key = http.get("/v1/node").json()["key"]
    first = http.post("/v1/checkpoints").json()
    posted = http.post("/v1/entries", json=entry(), headers=key()).json()
    proof = http.get(f"/v1/entries/{posted['id']}/proof")
    (tmp_path / "proof.json").write_bytes(proof.content)
    assert verifier.run("proof", tmp_path / "proof.json", "--key", node_key).code == 0
    assert http.get("/v1/checkpoints/latest").json()["size"] >= posted["seq"]
    consistency = http.get("/v1/consistency", params={"size1": first["size"]})
    (tmp_path / "consistency.json").write_bytes(consistency.content)
    assert verifier.run("consistency", tmp_path / "consistency.json", "--key", node_key).code == 0
    assert (funded.home / "checkpoint.note").read_text() == http.get("/v1/checkpoints/latest").json()["note"]
    unknown = http.get("/v1/consistency", params={"size1": 2**40})
    problem(unknown, 404, "ledger.checkpoint.unknown")


def test_the_node_its_policy_and_an_entry_explain_themselves(http: httpx.Client) -> None:
    about = http.get("/v1/node").json()
    assert about["mode"] == "dev"
    assert about["entries"] >= 1
    assert {"name", "value", "unit", "doc"} <= set(http.get("/v1/policy").json()["values"][0])
    posted = http.post("/v1/entries", json=entry(), headers=key()).json()
    told = http.get(f"/v1/explain/{posted['id']}").json()
    assert told["subject"] == posted["id"]
    assert told["sentences"]


def test_money_out_of_nothing_comes_once_for_a_key(http: httpx.Client) -> None:
    once = key()
    body = {"account": EVE.replace("eve", "fay"), "amount": "7"}
    assert http.post("/v1/fund", json=body, headers=once).status_code == 201
    assert http.post("/v1/fund", json=body, headers=once).status_code == 200
    assert http.get("/v1/balance", params={"account": body["account"]}).json()["balance"] == "7"


REFUSALS: list[tuple[str, str, Any, int, str]] = [
    ("an unknown account", "/v1/entries", entry(payee="person:nobody/available/CREDIT"), 404, "ledger.account.unknown"),
    ("two assets", "/v1/entries", entry(payee=ADA_SAT), 422, "ledger.asset_mismatch"),
    ("zero", "/v1/entries", entry(amount="0"), 422, "money.out_of_range"),
    ("less than nothing", "/v1/entries", entry(amount="-1"), 422, "money.out_of_range"),
    ("more than 64 bits", "/v1/entries", entry(amount=str(2**63)), 422, "money.out_of_range"),
    ("a million digits", "/v1/entries", entry(amount="9" * 1_000_000), 422, "invalid"),
    ("decimals", "/v1/entries", entry(amount="1.50"), 422, "money.out_of_range"),
    (
        "a number instead of text",
        "/v1/entries",
        entry() | {"legs": [{"from": ADA, "to": BOB, "amount": 1}]},
        422,
        "invalid",
    ),
    ("an exponent", "/v1/entries", entry(amount="1e3"), 422, "money.out_of_range"),
    ("digits of another script", "/v1/entries", entry(amount="١٢"), 422, "money.out_of_range"),
    ("more than there is", "/v1/entries", entry(amount=str(2**62)), 409, "ledger.insufficient_funds"),
    ("an account that is no name", "/v1/entries", entry(payee="bob"), 422, "ledger.account.bad_name"),
    ("no legs", "/v1/entries", {"reason": "x", "legs": []}, 422, "invalid"),
    ("no reason", "/v1/entries", {"legs": entry()["legs"]}, 422, "invalid"),
    ("an unknown field", "/v1/entries", entry(surprise=1), 422, "invalid"),
    ("a list instead of an entry", "/v1/entries", [1, 2], 422, "invalid"),
    ("a zero character", "/v1/entries", entry(reason="a\0b"), 422, "ledger.entry.invalid"),
    ("half a character", "/v1/entries", b'{"reason": "\\ud800", "legs": []}', 422, "invalid"),
    ("a receipt that is no hash", "/v1/entries", entry(receipt="sha256:xx"), 422, "invalid"),
    ("a correction of nothing", "/v1/entries", entry(corrects=str(uuid.UUID(int=7))), 404, "ledger.entry.unknown"),
    ("a hold kind in an entry", "/v1/entries", entry(kind="hold.place"), 422, "ledger.entry.invalid"),
    ("broken JSON", "/v1/entries", b'{"reason": ', 422, "invalid"),
    ("no UTF-8", "/v1/entries", b'{"reason": "\xff\xfe"}', 400, "http.bad_request"),
    ("a tower of brackets", "/v1/entries", b"[" * 200_000, 400, "http.bad_request"),
    ("nothing at all", "/v1/entries", b"", 422, "invalid"),
    (
        "a huge batch",
        "/v1/entries/batch",
        {"entries": [entry(key=str(number)) for number in range(10_001)]},
        422,
        "ledger.batch.too_large",
    ),
    ("an empty batch", "/v1/entries/batch", {"entries": []}, 422, "invalid"),
    ("a batch without keys", "/v1/entries/batch", {"entries": [entry()]}, 422, "invalid"),
    (
        "a hold in the past",
        "/v1/holds",
        {"payer": ADA, "amount": "1", "expires_at": "2020-01-01T00:00:00Z", "reason": "x"},
        422,
        "ledger.entry.invalid",
    ),
    (
        "a hold without a time",
        "/v1/holds",
        {"payer": ADA, "amount": "1", "expires_at": "soon", "reason": "x"},
        422,
        "invalid",
    ),
    ("a hold without an end", "/v1/holds", {"payer": ADA, "amount": "1", "reason": "x"}, 422, "invalid"),
    (
        "a hold with two ends",
        "/v1/holds",
        {"payer": ADA, "amount": "1", "expires_at": "2030-01-01T00:00:00Z", "expires_in_s": 9, "reason": "x"},
        422,
        "invalid",
    ),
    (
        "a hold for too long",
        "/v1/holds",
        {"payer": ADA, "amount": "1", "expires_in_s": 2**31, "reason": "x"},
        422,
        "ledger.entry.invalid",
    ),
    (
        "a hold that is not there",
        f"/v1/holds/{'hold_' + '0' * 26}/release",
        {"reason": "x"},
        404,
        "ledger.hold.unknown",
    ),
    ("a hold that is no id", "/v1/holds/abc/release", {"reason": "x"}, 422, "invalid"),
    ("funds for no account", "/v1/fund", {"account": "ada", "amount": "1"}, 422, "ledger.account.bad_name"),
    (
        "an account of no asset",
        "/v1/accounts",
        {"name": "person:ada/available/GOLDBARSX"},
        422,
        "ledger.account.bad_name",
    ),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case[0])
def test_what_is_refused_is_explained_and_writes_nothing(
    case: tuple[str, str, Any, int, str], funded: NodeUnderTest, http: httpx.Client
) -> None:
    _, path, body, status, code = case
    before = funded.entries()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    problem(http.post(path, content=data, headers=key() | JSON), status, code)
    assert funded.entries() == before
    assert http.get("/v1/trial-balance").json()["balanced"] is True


def test_a_key_that_was_used_for_something_else_is_refused(funded: NodeUnderTest, http: httpx.Client) -> None:
    once = key()
    http.post("/v1/entries", json=entry(amount="2"), headers=once)
    before = funded.entries()
    shown = problem(http.post("/v1/entries", json=entry(amount="3"), headers=once), 409, "ledger.conflicting_key")
    assert shown["fields"]["key"] == once["Idempotency-Key"]
    assert funded.entries() == before


def test_whatever_policy_may_allow_can_be_asked_for(http: httpx.Client) -> None:
    """Whether a page is that large is policy; the limit of the question is the policy's own bound."""
    [bound] = {item.high for item in describe(default_policy()) if item.name.endswith(".page_rows_max")}
    assert bound == PAGE_ROWS_MOST
    for path in ("/v1/accounts", "/v1/entries", "/v1/issuances", "/v1/disputes", "/v1/providers"):
        assert http.get(path, params={"limit": bound}).status_code == 200
        problem(http.get(path, params={"limit": bound + 1}), 422, "invalid")
    assert page_rows(3_000, LedgerPolicy(page_rows_max=5_000)) == 3_000
    assert page_rows(3_000, LedgerPolicy()) == 1_000


@pytest.mark.parametrize("given", [None, "", "x" * 201, "caf\u00e9", "a\tb"])
def test_a_bad_idempotency_key_is_refused(given: str | None, funded: NodeUnderTest, http: httpx.Client) -> None:
    before = funded.entries()
    headers = [] if given is None else [(b"Idempotency-Key", given.encode())]
    problem(http.post("/v1/entries", json=entry(), headers=headers), 422, "invalid")
    assert funded.entries() == before


@pytest.mark.parametrize(
    "path",
    [
        "/v1/accounts?prefix=%00",
        "/v1/accounts?cursor=%00",
        "/v1/accounts?limit=0",
        "/v1/accounts?limit=10001",
        "/v1/entries?cursor=abc",
        "/v1/entries?cursor=-1",
        f"/v1/statement?account={ADA}&cursor=1",
        f"/v1/balance?account={ADA}&at_seq=-1",
        f"/v1/balance?account={ADA}&at_time=yesterday",
        f"/v1/balance?account={ADA}&at_seq=1&at_time=2026-01-01T00:00:00Z",
        "/v1/balance",
        "/v1/entries/not-an-id",
        "/v1/entries/entry_%00",
        "/v1/holds/hold_%FF",
        "/v1/explain/%F0%9F%8E%B5",
        "/v1/consistency?size1=0",
    ],
)
def test_odd_questions_are_refused_not_stumbled_over(path: str, http: httpx.Client) -> None:
    problem(http.get(path), 422, "invalid")


@pytest.mark.parametrize(
    "path", ["/v1/balance?account=x%00y", "/v1/balance?account=bob", "/v1/statement?account=%F0%9F"]
)
def test_an_account_that_is_no_name_is_refused_when_read(path: str, http: httpx.Client) -> None:
    answer = http.get(path)
    assert answer.status_code == 422, answer.text


def test_reading_what_is_not_there_says_so(http: httpx.Client) -> None:
    problem(http.get("/v1/entries/entry_" + "0" * 26), 404, "ledger.entry.unknown")
    problem(http.get("/v1/balance", params={"account": "person:nobody/available/SAT"}), 404, "ledger.account.unknown")
    problem(http.get("/v1/holds/hold_" + "0" * 26), 404, "ledger.hold.unknown")


def test_many_at_once_open_fund_and_sign_without_getting_in_each_others_way(funded: NodeUnderTest) -> None:
    def work(number: int) -> list[int]:
        with funded.http() as http:
            answers = [
                http.post("/v1/accounts", json={"name": f"person:many{number % 3}/available/CREDIT"}),
                http.post("/v1/fund", json={"account": "person:crowd/available/SAT", "amount": "1"}, headers=key()),
                http.post("/v1/checkpoints"),
                http.post("/v1/entries", json=entry(), headers=key()),
                http.post("/v1/checkpoints"),
            ]
            return [answer.status_code for answer in answers]

    with ThreadPoolExecutor(8) as pool:
        for statuses in pool.map(work, range(24)):
            assert statuses == [201] * 5
    with funded.http() as http:
        assert http.get("/v1/balance", params={"account": "person:crowd/available/SAT"}).json()["balance"] == "24"
        http.post("/v1/checkpoints")
        note = http.get("/v1/checkpoints/latest").json()["note"]
    assert (funded.home / "checkpoint.note").read_text() == note
    assert list(funded.home.glob(".checkpoint.note*")) == []


def test_a_production_node_makes_no_money_by_one_operator() -> None:
    with new_node(CHOIR_MODE="production") as node:
        node.up()
        with node.http() as http:
            http.post("/v1/accounts", json={"name": "system:main/issuance/CREDIT"})
            http.post("/v1/accounts", json={"name": ADA})
            before = node.entries()
            fund_ = http.post("/v1/fund", json={"account": ADA, "amount": "5"}, headers=key())
            problem(fund_, 409, "ledger.development_only")
            issue = http.post("/v1/entries", json=entry(payer="system:main/issuance/CREDIT", payee=ADA), headers=key())
            problem(issue, 409, "ledger.issuance.needs_two")
            batch = {"entries": [entry(payer="system:main/issuance/CREDIT", payee=ADA, key="1")]}
            refused = http.post("/v1/entries/batch", json=batch)
            assert "ledger.issuance.needs_two" in refused.text
            assert node.entries() == before
        assert node.run("fund", ADA, "5").code == 1
        _two_operators_make_money(node)
        assert node.stop() == 0
        sick = node.run("doctor", env={"CHOIR_MODE": "dev"})
        assert sick.code != 0
        assert "created as a production node" in sick.out + sick.err
        other = node.run("up", env={"CHOIR_MODE": "dev"})
        assert other.code == 1
        assert "created as a production node" in other.err


def _two_operators_make_money(node: NodeUnderTest) -> None:
    """One proposes on the command line, one approves with a token of their own."""
    before = node.entries()
    proposed = _said(node, "ledger", "issue", "propose", ADA, "5", "--reason", "an invoice", "--json")
    shown = node.run("ledger", "issue", "ls").out
    assert proposed["id"] in shown
    assert "5.00 CREDIT from system:node/issuance/CREDIT to person:ada" in shown
    alone = node.run("ledger", "issue", "approve", proposed["id"])
    assert (alone.code, node.entries()) == (1, before)
    assert "another operator must approve it" in alone.err
    grace = {"CHOIR_TOKEN": _said(node, "operator", "add", "grace", "--json")["token"]}
    approved = node.run("ledger", "issue", "approve", proposed["id"], env=grace)
    assert approved.code == 0, approved.err
    assert "Approved by operator:grace; posted as entry_" in approved.out
    assert _said(node, "ledger", "issue", "show", proposed["id"], "--json")["state"] == "posted"
    assert "No issuance awaits approval" in node.run("ledger", "issue", "ls").out
    assert node.entries() == before + 1
    assert _said(node, "ledger", "balance", ADA, "--json")["balance"] == "500"
    second = _said(node, "ledger", "issue", "propose", ADA, "7", "--json")
    assert "Withdrawn by operator:grace" in node.run("ledger", "issue", "withdraw", second["id"], env=grace).out
    assert second["id"] in node.run("ledger", "issue", "ls", "--all").out
    late = node.run("ledger", "issue", "approve", second["id"], env=grace)
    assert (late.code, node.entries()) == (1, before + 1)
    assert "is withdrawn" in late.err
    # Whoever gets a name that somebody had before has nothing of what they agreed to.
    third = json.loads(node.run("ledger", "issue", "propose", ADA, "9", "--json", env=grace).out)
    assert "1 other operator must approve" in node.run("ledger", "issue", "ls").out
    _said(node, "operator", "remove", "grace", "--json")
    _said(node, "operator", "add", "grace", "--json")
    assert "2 other operators must approve" in node.run("ledger", "issue", "show", third["id"]).out
    assert _said(node, "ledger", "issue", "approve", third["id"], "--json")["state"] == "open"
    assert node.entries() == before + 1


def _said(node: NodeUnderTest, *args: str) -> dict[str, Any]:
    done = node.run(*args)
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told
