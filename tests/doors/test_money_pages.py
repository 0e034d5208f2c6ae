"""One's own money over plain HTTP: statement, files, holds, spending, sending; and nothing of anybody else's."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.doors.townsfolk import Neighbour, neighbour
from tests.operations.nodes import NodeUnderTest, new_node

BROWSER = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def running() -> Iterator[NodeUnderTest]:
    """A node whose pages are short, so that there are several."""
    with new_node(CHOIR_POLICY__LEDGER__SHOWN_ROWS="3", CHOIR_POLICY__LEDGER__SEARCH_ROWS_MAX="4") as made:
        yield made.up()


@pytest.fixture(scope="module")
def both(running: NodeUnderTest) -> Iterator[tuple[Neighbour, Neighbour]]:
    with neighbour(running, "spender") as spender, neighbour(running, "earner") as earner:
        for number in range(1, 8):
            send(spender, "earner", number * 1000, memo=f"part {number}")
        yield spender, earner


def send(who: Neighbour, to: str, amount: int, **more: str) -> Any:
    body = {"to": to, "asset": "SAT", "amount": str(amount), **more}
    answer = who.http.post("/transfers", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
    assert answer.status_code == 201, answer.text
    return answer.json()


def get(who: Neighbour, path: str, **params: str) -> httpx.Response:
    return who.http.get(f"{who.node.url}{path}", params=params or None, headers=BROWSER)


def rows(who: Neighbour, **params: str) -> list[dict[str, str]]:
    answer = get(who, "/account/statement.csv", **params)
    assert answer.headers["content-disposition"] == 'attachment; filename="statement.csv"'
    assert answer.headers["cache-control"] == "no-store"
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_files_have_every_movement_exactly(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    found = rows(spender)
    sat = [row for row in found if row["asset"] == "SAT"]
    assert sum(int(row["units"]) for row in sat) == int(sat[0]["balance_units"])
    assert [row["memo"] for row in found[:7]] == [f"part {number}" for number in range(7, 0, -1)]
    assert (found[0]["amount"], found[0]["units"], found[0]["other"]) == ("-7.000", "-7000", "'@earner")
    told = get(spender, "/account/statement.json").json()
    assert [item["units"] for item in told["items"]] == [row["units"] for row in found]
    assert [row["units"] for row in rows(earner)][:7] == [str(number * 1000) for number in range(7, 0, -1)]


def test_pages_go_on_until_all_was_shown(both: tuple[Neighbour, Neighbour]) -> None:
    seen, path, pages = 0, "/account/statement?q=part", 0
    while path and pages < 20:
        told = get(both[0], path).text.replace("&amp;", "&")
        seen += told.count("<q ")
        pages += 1
        path = told.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0] if 'rel="next"' in told else ""
    assert seen == 7
    assert pages > 2


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"q": "PART 3"}, ["-3000"]),
        ({"q": "@earner", "least": "6"}, ["-7000", "-6000"]),
        ({"kind": "transfer", "most": "2.0"}, ["-2000", "-1000"]),
        ({"least": "2.5", "most": "3"}, ["-3000"]),
        ({"since": "2999-01-01"}, []),
        ({"until": "2001-01-01"}, []),
        ({"q": "nothing like it"}, []),
    ],
)
def test_searching(both: tuple[Neighbour, Neighbour], params: dict[str, str], found: list[str]) -> None:
    assert [row["units"] for row in rows(both[0], **params)] == found


def test_one_account_can_be_chosen_and_nobody_elses(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    own = rows(spender, account=f"{spender.owner}/available/CREDIT")
    assert [row["kind"] for row in own] == ["gift"]
    for path in ("/account/statement", "/account/statement.csv", "/account/statement.json"):
        for other in (f"{earner.owner}/available/SAT", "treasury:main/holdings/CHIP", "nothing", "x" * 200):
            assert get(spender, path, account=other).status_code == 404
    assert get(spender, "/account/statement.xml").status_code == 404


def test_what_cannot_be_read_is_said(both: tuple[Neighbour, Neighbour]) -> None:
    told = get(both[0], "/account/statement", since="<i>soon</i>", least="many", before="x").text
    assert "“&lt;i&gt;soon&lt;/i&gt;” is not a date." in told
    assert "“many” is not an amount." in told
    assert get(both[0], "/account/statement", until="9999-12-31", least="9" * 60).status_code == 200
    assert get(both[0], "/account/holds", before="x").status_code == 200
    assert get(both[0], "/account/spending", before="x").status_code == 200


def test_text_of_others_is_escaped_and_no_formula(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    send(earner, "spender", 5, memo='=HYPERLINK("x")<script>')
    assert "<script>" not in get(spender, "/account/statement").text.split("<main", 1)[1]
    [row] = rows(spender, q="hyperlink")
    assert row["memo"].startswith("'=")
    assert row["other"] == "'@earner"  # a handle begins as a formula does in some spreadsheets


def test_a_memo_turns_nothing_around(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    number = send(earner, "spender", 7, memo="paid \u202e000,1 TAS\u202c\u200b back")["posted"]["seq"]
    for path in ("/account/statement", f"/ledger/entries/{number}"):
        shown = get(spender, path).text
        assert 'dir="auto">paid 000,1 TAS back</q>' in shown, path


def test_sending_is_offered_to_people_who_exist(both: tuple[Neighbour, Neighbour]) -> None:
    spender, _ = both
    told = get(spender, "/account/send", to="@earner").text
    assert 'data-call="POST /v1/transfers" data-key' in told
    assert "@earner" in told
    assert 'value="CREDIT"' not in told
    for wrong, words in (("nobody-here", "There is nobody"), ("spender", "That is you"), ("<b>", "&lt;b&gt;")):
        told = get(spender, "/account/send", to=wrong).text
        assert words in told
        assert "data-call" not in told.split("<main", 1)[1]


def test_the_same_key_at_once_sends_once(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    before = len(rows(earner, q="one of many"))
    body, key = {"to": "earner", "asset": "SAT", "amount": "10", "memo": "one of many"}, uuid.uuid4().hex
    with ThreadPoolExecutor(8) as at_once:
        sent = [
            at_once.submit(spender.http.post, "/transfers", json=body, headers={"Idempotency-Key": key})
            for _ in range(8)
        ]
        answers = [each.result() for each in sent]
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["posted"]["id"] for answer in answers}) == 1
    assert len(rows(earner, q="one of many")) == before + 1


def test_what_agents_spend_is_shown_to_their_person_alone(both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    agent = spender.agent("<i>buyer</i>")
    caps = [{"asset": "SAT", "period": period, "cap": "50000"} for period in ("day", "total")]
    delegation = spender.delegation(agent, "read", "buy", caps=caps)
    program = {"Authorization": f"Bearer {spender.token('read', 'buy', delegation=delegation)}"}
    body = {"from": spender.owner, "to": "earner", "asset": "SAT", "amount": "4000"}
    url = f"{spender.node.url}/v1/transfers"
    for _ in range(2):
        sent = httpx.post(url, json=body, headers=program | {"Idempotency-Key": "agents-own"}, trust_env=False)
        assert sent.status_code in (200, 201), sent.text
    told = get(spender, "/account/spending").text
    assert "&lt;i&gt;buyer&lt;/i&gt;" in told
    assert "SAT spent by day" in told
    assert "4 SAT</td>" in told
    assert "8 SAT" not in told.split("<main", 1)[1], "what was sent twice was spent once"
    assert "buyer" not in get(earner, "/account/spending").text


def test_holds_say_for_what_and_until_when(running: NodeUnderTest, both: tuple[Neighbour, Neighbour]) -> None:
    spender, earner = both
    assert "Nothing is held." in get(spender, "/account/holds").text
    with running.http() as operator:
        for number in range(4):
            body = {
                "payer": f"{spender.owner}/available/SAT", "amount": "2500", "expires_in_s": 3600,
                "reason": "the budget of a job", "refs": ["job_" + "0" * 26],
            }  # fmt: skip
            placed = operator.post("/v1/holds", json=body, headers={"Idempotency-Key": f"h{number}"})
            assert placed.status_code == 201, placed.text
    told = get(spender, "/account/holds").text
    assert told.count("the budget of a job") == 3
    assert 'href="/jobs/job_' in told
    assert "2.5 SAT" in told
    older = told.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    assert get(spender, older).text.count("the budget of a job") == 1
    assert "Nothing is held." in get(earner, "/account/holds").text
