"""What a node owes, from the operator's command to the check that somebody makes who trusts nobody."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import psycopg
import pytest

from choir.doors.liabilities import proof as owed
from choir.doors.liabilities.proof import OwedDiffers
from choir.doors.liabilities.publication import published
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from choir.ledger.liabilities.model import NothingPublished
from choir.sdk import Client
from tests.auditor.verifier import run
from tests.doors.http.visitors import Browser, Json, client, done, fund
from tests.operations.nodes import NodeUnderTest, until


def _published(node: NodeUnderTest) -> Json:
    """What the command says, and says again of the same journal; the node itself may post something in between."""
    for _ in range(20):
        published = node.run("ledger", "liabilities", "--json").json
        again = node.run("ledger", "liabilities").out
        if again.splitlines()[2] == published["note"].splitlines()[2]:  # the journal's size
            assert again == published["note"]
            told: Json = published
            return told
    raise AssertionError("the journal never stood still")


def test_from_publishing_to_checking(served: NodeUnderTest, ada: Browser, bob: Browser, tmp_path: Path) -> None:
    fund(served, ada.owner, 4_321)
    fund(served, bob.owner, 987_654_321)
    published = _published(served)

    token = {"CHOIR_TOKEN": ada.make_token("read")["secret"]}
    proof = served.run("account", "prove", env=token)
    assert proof.code == 0, proof.err
    [sats] = [total for total in published["totals"] if total["asset"] == "SAT"]
    assert f"4.321 of {int(sats['total']) / 1000:.3f} SAT" in proof.err
    account = f"{ada.owner}/available/SAT"
    assert {each["account"]: each["balance"] for each in proof.json["accounts"]}[account] == "4321"
    assert bob.owner.partition(":")[2] not in proof.out
    assert "987654321" not in proof.out

    with client(served) as nobody:
        latest = nobody.get("/v1/liabilities/latest")
        assert done(latest) == published == done(nobody.get(f"/v1/liabilities/{published['size']}"))
        headers = {"If-None-Match": latest.headers["etag"]}
        assert nobody.get("/v1/liabilities/latest", headers=headers).status_code == 304
        key = done(nobody.get("/v1/node"))["key"]
    file, note = tmp_path / "proof.json", tmp_path / "liabilities.note"
    file.write_text(proof.out)
    note.write_text(published["note"])
    outcome = run("liabilities", file, "--key", key, "--note", str(note))
    assert (outcome.code, outcome.report["owed"]["SAT"]) == (0, "4321")
    listed = served.run("account", "--json", env=token).json  # beside its subcommand it is still a command itself
    assert {each["name"]: each["balance"] for each in listed}[account] == "4321"


def test_an_agent_gets_its_persons_proof_too(served: NodeUnderTest, ada: Browser) -> None:
    agent = ada.agent()
    fund(served, ada.owner, 5)
    fund(served, agent["owner"], 7)
    with served.client() as operator:
        published(operator)
    delegation = ada.grant(agent, "read")
    with ada.program("read", delegation=delegation) as http:
        found = {each["account"]: each["balance"] for each in done(http.get("/v1/me/liabilities"))["accounts"]}
    assert found[f"{ada.owner}/available/SAT"] == "5"
    assert found[f"{agent['owner']}/available/SAT"] == "7"


def test_an_account_that_was_left_out_is_found(served: NodeUnderTest, ada: Browser) -> None:
    fund(served, ada.owner, 5)
    with served.client() as operator:
        published(operator)
        key = operator.node().key
    with Client(served.url, ada.make_token("read")["secret"]) as mine:
        proof = mine.liabilities.prove()
        owed.check(mine, proof, key=key)
        left = [each for each in proof.accounts if not each.account.endswith("/SAT")]
        with pytest.raises(OwedDiffers, match=r"had 0\.005 SAT but the proof covers 0\.000 SAT"):
            owed.check(mine, proof.model_copy(update={"accounts": left}), key=key)


def test_money_in_holds_that_was_left_out_is_found(served: NodeUnderTest, ada: Browser) -> None:
    """Also where nothing else is left on the account: then nothing but the holds is owed."""
    account = f"{ada.owner}/available/SAT"
    fund(served, ada.owner, 5)
    soon = format_time(SystemClock().now_us() + 3600 * MICROSECONDS)
    with served.client() as operator:
        operator.hold(account, 5, expires_at=soon, reason="a test")
        size = published(operator).size
        assert (operator.balance(account).balance, operator.balance(account).held) == ("0", "5")
        assert operator.balance(account, at_seq=1).held == "0"
        key = operator.node().key
    with Client(served.url, ada.make_token("read")["secret"]) as mine:
        proof = mine.liabilities.prove(size)
        [told] = [each for each in proof.accounts if each.account == account]
        assert (told.balance, told.held) == ("0", "5")
        owed.check(mine, proof, key=key)
        left = [each for each in proof.accounts if each is not told]
        with pytest.raises(OwedDiffers, match=r"had 0\.005 SAT in holds but the proof covers 0\.000 SAT"):
            owed.check(mine, proof.model_copy(update={"accounts": left}), key=key)


def test_who_asks_while_it_takes_long_is_told_so_and_it_goes_on(served: NodeUnderTest, ada: Browser) -> None:
    fund(served, ada.owner, 5)
    size = served.entries()
    answers: list[httpx.Response] = []

    def ask() -> None:
        with served.http() as operator:
            answers.append(operator.post("/v1/liabilities"))

    with psycopg.connect(served.dsn("choir_app"), autocommit=True) as busy:
        row = busy.execute("select pg_try_advisory_lock(hashtext('choir liabilities'))").fetchone()
        assert row == (True,), "somebody else is counting"
        asking = threading.Thread(target=ask)
        asking.start()
        waited = served.run("ledger", "liabilities", "--wait", "0")
        asking.join(60)
    assert waited.code == 1
    assert "The node is computing its liabilities after entry" in waited.err
    assert "wait again" in waited.err
    assert "choir ledger liabilities --latest" in waited.err
    [answer] = answers
    told = answer.json()
    assert (answer.status_code, told["state"], told["problem"]) == (202, "under_way", None)
    assert told["size"] >= size
    with served.client() as nobody:
        until(lambda: _published_size(nobody) >= told["size"])


def _published_size(client: Client) -> int:
    try:
        return client.liabilities.latest().size
    except NothingPublished:
        return 0
