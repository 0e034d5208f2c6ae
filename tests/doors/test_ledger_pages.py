"""The pages of the ledger and the treasury over plain HTTP: who sees what, proofs without names, wrong input."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from tests.doors.townsfolk import Neighbour, neighbour
from tests.ledger.proofs import verify_inclusion
from tests.operations.nodes import PLAIN, NodeUnderTest

BROWSER = {"Accept": "text/html"}
MEMO = "for the <b>notes</b>"


@pytest.fixture
def nobody(running: NodeUnderTest) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, headers=BROWSER, timeout=60, trust_env=False, verify=PLAIN) as made:
        yield made


@pytest.fixture(scope="module")
def people(running: NodeUnderTest) -> Iterator[tuple[Neighbour, Neighbour, Neighbour]]:
    with neighbour(running, "payer") as payer, neighbour(running, "payee") as payee, neighbour(running, "eve") as eve:
        yield payer, payee, eve


@pytest.fixture(scope="module")
def sent(running: NodeUnderTest, people: tuple[Neighbour, Neighbour, Neighbour]) -> Any:
    """A transfer with a memo, under a signed checkpoint."""
    body = {"to": "payee", "asset": "SAT", "amount": "12500", "memo": MEMO}
    answer = people[0].http.post("/transfers", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert answer.status_code == 201, answer.text
    with running.http() as operator:
        assert operator.post("/v1/checkpoints", headers={"Idempotency-Key": "k"}).status_code == 201
    return answer.json()["posted"]


def page(who: Neighbour, path: str) -> str:
    answer = who.http.get(f"{who.node.url}{path}", headers=BROWSER)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_parties_see_names_and_memo_and_others_only_what_moved(
    nobody: httpx.Client, people: tuple[Neighbour, Neighbour, Neighbour], sent: Any
) -> None:
    payer, payee, eve = people
    at = f"/ledger/entries/{sent['seq']}"
    for who in (payer, payee):
        told = page(who, at)
        assert "@payer (available)" in told
        assert "@payee (available)" in told
        assert "for the &lt;b&gt;notes&lt;/b&gt;" in told
    for told in (nobody.get(at).text, page(eve, at)):
        main = told[told.index("<main") : told.index("</main>")]
        assert "<td>a person</td><td>a person</td>" in main
        assert '12<span class="fraction">.500</span>' in main
        assert sent["hash"] in main
        for private in ("payer", "payee", "notes", payer.owner, payee.owner, "a transfer"):
            assert private not in main


def test_the_persons_of_an_agent_see_what_it_did(people: tuple[Neighbour, Neighbour, Neighbour]) -> None:
    payer, payee, eve = people
    agent = payer.agent("runner")
    given = {"to": f"agent:{agent.removeprefix('agent_')}", "asset": "SAT", "amount": "1000"}
    seq = payer.http.post("/transfers", json=given, headers={"Idempotency-Key": "to-agent"}).json()["posted"]["seq"]
    assert "runner (available)" in page(payer, f"/ledger/entries/{seq}")
    for other in (payee, eve):
        assert "<td>a person</td><td>an agent</td>" in page(other, f"/ledger/entries/{seq}")


def test_a_proof_for_anybody_names_nobody_and_verifies(
    nobody: httpx.Client, people: tuple[Neighbour, Neighbour, Neighbour], sent: Any
) -> None:
    for ref in (sent["id"], str(sent["seq"])):
        told = nobody.get(f"/v1/entries/{ref}/inclusion")
        assert told.status_code == 200
        assert "person:" not in told.text
        assert told.json()["text"] is None
        check(told.json())
    eve = people[2].http.get(f"/entries/{sent['id']}/inclusion").json()
    assert eve["text"] is None
    own = people[0].http.get(f"/entries/{sent['id']}/inclusion").json()
    assert hashlib.sha256(own["text"].encode()).hexdigest() == own["leaf"]["content"] == eve["leaf"]["content"]
    assert people[1].owner in own["text"]
    blind = {"Authorization": f"Bearer {people[0].token('buy')}"}
    assert nobody.get(f"/v1/entries/{sent['id']}/inclusion", headers=blind).json()["text"] is None, "no scope to read"


def check(told: dict[str, Any]) -> None:
    """As the script in the page does it."""
    leaf = told["leaf"]
    numbers = int(leaf["seq"]).to_bytes(8, "big") + int(leaf["at_us"]).to_bytes(8, "big")
    fixed = bytes.fromhex(leaf["prev"]) + numbers + uuid.UUID(leaf["id"]).bytes + bytes.fromhex(leaf["content"])
    preimage = b"choir-entry-v1" + fixed
    assert hashlib.sha256(preimage).hexdigest() == leaf["hash"]
    tree = Checkpoint.parse(open_note(told["checkpoint"], [VerifierKey.parse(told["key"])]).text)
    proof = [base64.b64decode(each) for each in told["proof"]]
    verify_inclusion(leaf["seq"] - 1, tree.size, hashlib.sha256(b"\0" + preimage).digest(), proof, tree.root)


def test_nobody_makes_the_node_sign(nobody: httpx.Client, running: NodeUnderTest) -> None:
    with neighbour(running, "latecomer"):
        seq = nobody.get("/v1/node").json()["entries"]
        before = nobody.get("/v1/checkpoints/latest").json()
        answer = nobody.get(f"/v1/entries/{seq}/inclusion")
    if before["size"] < seq:  # else the node has signed one by itself meanwhile
        assert answer.status_code == 200 or answer.json()["code"] == "ledger.checkpoint.unknown"


@pytest.mark.parametrize("text", ["0", "999999999", "9" * 60, "entry_" + "0" * 26, "nothing", "%00", "<b>", "-1"])
def test_what_is_no_entry_is_not_found(nobody: httpx.Client, text: str) -> None:
    assert nobody.get(f"/ledger/entries/{text}").status_code == 404
    found = nobody.get("/ledger/entries", params={"q": text})
    assert found.status_code == 404
    assert "<b>" not in found.text
    assert nobody.get(f"/v1/entries/{text}/inclusion").status_code in (404, 422)


def test_an_entry_is_found_by_id_or_number(nobody: httpx.Client, sent: Any) -> None:
    for text in (sent["id"], str(sent["seq"]), f" #{sent['seq']} "):
        answer = nobody.get("/ledger/entries", params={"q": text})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/ledger/entries/{sent['seq']}")
    assert nobody.get("/ledger/entries").headers["location"] == "/ledger"


def test_the_ledger_shows_where_it_stands(nobody: httpx.Client, people: Any, sent: Any) -> None:
    told = nobody.get("/ledger").text
    last = nobody.get("/v1/checkpoints/latest").json()
    assert base64.b64decode(last["root"]).hex() in told
    assert f'href="/ledger/entries/{sent["seq"]}"' in told
    for private in ("payer", "payee", people[0].owner):
        assert private not in told
    assert "<td>Transfer</td>" in told
    supply = re.search(r'<th scope="row">SAT</th>(.*?)</tr>', told)
    assert supply is not None
    assert "SAT</span></strong>" in supply.group(1)
    for wrong in ("x", "-1", "9" * 18):
        assert nobody.get("/ledger", params={"before": wrong, "signed_before": wrong}).status_code == 200
    assert "There are no entries here." in nobody.get("/ledger", params={"before": "1"}).text


def test_the_treasury_explains_this_months_rate(nobody: httpx.Client) -> None:
    rate = nobody.get("/v1/treasury/rate").json()
    told = nobody.get("/treasury").text
    assert "$5.00" in told
    for sentence in rate["sentences"]:
        assert sentence.split("×")[0].split("'")[0] in told
    assert 'data-live="treasury"' in told
    assert "Rates by month" in told
