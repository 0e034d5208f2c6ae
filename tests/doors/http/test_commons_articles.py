"""Articles over HTTP: drafts, what publishing would take, publishing once, reading, exporting, retracting."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from choir.commons.bundles.verification import verify_bundle
from choir.commons.policy import CommonsPolicy, SourcesPolicy, VerifiersPolicy
from choir.commons.publication.referee import Referee
from choir.commons.sources.reader import DocumentReader
from choir.policies import default_policy
from tests.commons.desk import CLAIMS, markdown
from tests.doors.http.commons_table import NO_HASH
from tests.doors.http.market import all_pages
from tests.doors.http.press import CHIP, WritersDesk, add, new_text, writer
from tests.doors.http.visitors import Browser, Json, balance, cap, done, key, refused
from tests.operations.nodes import NodeUnderTest

PLAIN = "# A title\n\nNothing is claimed here."
NO_ARTICLE = "article_" + "0" * 26


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 10_000)


@pytest.fixture(scope="module")
def desk(author: Browser) -> WritersDesk:
    return WritersDesk(author)


@pytest.fixture(scope="module")
def stranger(served: NodeUnderTest) -> Browser:
    return writer(served, 1_000)


@pytest.fixture(scope="module")
def promoted(desk: WritersDesk) -> str:
    """An article that is citable."""
    article = str(desk.article(topics=["engineering", "wind"])["id"])
    desk.publish(article)
    desk.wait(article, "promoted")
    return article


# Drafts


def test_drafts_are_saved_compared_and_never_lost_to_somebody_else(author: Browser, desk: WritersDesk) -> None:
    made = desk.create(PLAIN, topics=["a-topic"])
    assert (made["state"], made["draft"], made["versions"], made["title"]) == ("draft", 1, 0, "A title")
    assert (made["authors"], made["topics"]) == ([author.owner], ["a-topic"])
    where = f"/v1/articles/{made['id']}"

    def save(**body: Any) -> httpx.Response:
        return author.http.put(f"{where}/draft", json={"topics": ["a-topic"], **body})

    assert done(save(text=PLAIN))["draft"] == 1  # the same again is no draft
    assert done(save(text=f"{PLAIN}\n\nMore.", base=1))["draft"] == 2
    refused(save(text=f"{PLAIN}\n\nLess.", base=1), 409, "commons.draft_conflict")
    assert done(save(text=f"{PLAIN}\n\nMore.", base=1))["draft"] == 2  # an answer that was lost is no conflict
    assert done(save(text=PLAIN, title="Another title"))["title"] == "Another title"
    drafts = done(author.http.get(f"{where}/drafts"))["items"]
    assert [(item["n"], item["title"], item["text"]) for item in drafts] == [
        (3, "Another title", None), (2, "A title", None), (1, "A title", None),
    ]  # fmt: skip
    assert done(author.http.get(f"{where}/drafts/2"))["text"] == f"{PLAIN}\n\nMore."
    refused(author.http.get(f"{where}/drafts/9"), 404, "commons.draft_unknown")
    diff = done(author.http.get(f"{where}/diff", params={"a": "d1", "b": "d2"}))
    assert "+More." in diff["lines"]
    assert done(author.http.get(f"{where}/diff", params={"a": "d2", "b": "d2"}))["lines"] == []
    refused(author.http.get(f"{where}/diff", params={"a": "d1", "b": "v1"}), 404, "commons.publication_unknown")
    for params in ({"a": "d1"}, {"a": "d1", "b": "x1"}, {"a": "d0", "b": "d1"}, {"a": "d1", "b": f"d{'9' * 10}"}):
        refused(author.http.get(f"{where}/diff", params=params), 422, "invalid")


def test_a_key_makes_one_article(author: Browser) -> None:
    once = key()

    def send(**body: Any) -> httpx.Response:
        return author.http.post("/v1/articles", json=body, headers=once)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(text=PLAIN), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    refused(send(text=f"{PLAIN} And more."), 409, "identity.key_reused")
    refused(send(text=PLAIN, title="Another"), 409, "identity.key_reused")
    assert author.http.post("/v1/articles", json={"text": PLAIN}).status_code == 201  # without a key, each is new


def test_a_draft_is_nobody_elses_business(desk: WritersDesk, stranger: Browser) -> None:
    where = f"/v1/articles/{desk.draft}"
    http = stranger.http
    asked = [
        http.get(where),
        http.put(f"{where}/draft", json={"text": PLAIN}),
        http.get(f"{where}/drafts"),
        http.get(f"{where}/drafts/1"),
        http.get(f"{where}/diff", params={"a": "d1", "b": "d1"}),
        http.post(f"{where}/quote", json={}),
        http.post(f"{where}/publications", json={}, headers=key()),
        http.get(f"{where}/versions"),
        http.get(f"{where}/rendered"),
        http.get(f"{where}/bundle"),
        http.post(f"{where}/retraction", json={"reason": "mine"}),
        http.post(f"{where}/revisions", json={"text": PLAIN, "summary": "mine"}),
        http.get(f"{where}/revisions"),
        http.post(f"{where}/boosts", headers=key()),
        http.post("/v1/assertions", json={"article": desk.draft}),
    ]
    unknown = http.get(f"/v1/articles/{NO_ARTICLE}")
    for answer in [*asked, unknown]:
        refused(answer, 404, "commons.article_unknown")  # as if there were none
    assert desk.draft not in {item["id"] for item in all_pages(http, "/v1/articles", 100)}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "invalid"),
        ({"text": ""}, "invalid"),
        ({"text": "No title at all."}, "commons.bad_article"),
        ({"text": "# T\n\n[a]{#c1} [b]{#c1}"}, "commons.bad_article"),
        ({"text": "# T\n\n```evidence\nc1 supports sha256:zz@1-2\n```"}, "commons.bad_article"),
        ({"text": f"# T\n\n[a]{{#c1}}\n\n```evidence\nc1 supports {NO_HASH}@1-9999999999\n```"}, "commons.bad_article"),
        ({"text": "# T\n\n[invi\u200bsible]{#c1}"}, "commons.bad_article"),
        ({"text": "# T\n\na\0b"}, "commons.bad_article"),
        ({"text": "# T\n\n[\ufdd0]{#c1} and [it has \ufdd0 in it]{#c2}"}, "commons.bad_article"),
        ({"text": PLAIN, "title": "\u202eeltit"}, "commons.bad_article"),
        ({"text": PLAIN, "title": "a\0b"}, "commons.bad_article"),
        ({"text": PLAIN, "topics": ["Not A Topic"]}, "commons.bad_article"),
        ({"text": PLAIN, "topics": ["a\0b"]}, "commons.bad_article"),
        ({"text": PLAIN, "topics": [""]}, "commons.bad_article"),
        ({"text": PLAIN, "topics": "engineering"}, "invalid"),
        ({"text": PLAIN, "surprise": 1}, "invalid"),
    ],
)  # fmt: skip
def test_what_is_no_article_is_told_with_its_line(author: Browser, body: Json, code: str) -> None:
    told = refused(author.http.post("/v1/articles", json=body), 422, code)
    assert code == "invalid" or told["fields"]["line"] >= 1


@pytest.mark.parametrize(
    "body",
    [
        {"text": "# T\n\n" + "word " * 50_000},
        {"text": "# T\n\n" + "\n" * 20_001},
        {"text": PLAIN, "topics": [f"topic-{n}" for n in range(9)]},
        {"text": PLAIN, "topics": ["x" * 41]},
        {"text": PLAIN, "title": "x" * 301},
    ],
    ids=["characters", "lines", "topics", "topic", "title"],
)
def test_what_is_too_large_is_refused(author: Browser, body: Json) -> None:
    refused(author.http.post("/v1/articles", json=body), 413, "commons.article_too_large")
    assert author.http.post("/v1/articles", json={"text": "x" * 1_000_001}).status_code == 422


# What it would take


def test_a_quote_says_what_it_costs_and_what_it_opens(author: Browser, desk: WritersDesk) -> None:
    article = desk.article(topics=["engineering"])
    quote = done(author.http.post(f"/v1/articles/{article['id']}/quote", json={}))
    assert (quote["would_pass"], quote["problems"], quote["too_little"]) == (True, [], "")
    assert (quote["stake"], quote["fee"], quote["tier"]) == (str(90 * CHIP), str(10 * CHIP), "low")
    assert sum(map(int, quote["parts"].values())) == 90 * CHIP
    assert (quote["verified"], quote["needed"]) == (3, 3)
    assert [item["level"] for item in quote["bindings"]] == ["L2"] * 3
    assert {finding["outcome"] for item in quote["bindings"] for finding in item["findings"]} <= {"pass", "not_judged"}
    assert len(quote["publishes"]) == 1
    assert done(author.http.get(f"/v1/articles/{article['id']}"))["state"] == "draft"


def test_a_newcomer_is_helped_once(served: NodeUnderTest) -> None:
    newcomer = writer(served, 10)  # 50 are a gift, 50 more come from the treasury; the fee is their own
    desk = WritersDesk(newcomer)
    article = desk.article()["id"]
    quote = done(newcomer.http.post(f"/v1/articles/{article}/quote", json={}))
    assert quote["co_stake"] == str(40 * CHIP) or int(quote["co_stake"]) <= 50 * CHIP
    assert quote["parts"].keys() >= {"starter", "treasury"}
    desk.publish(article)
    second = desk.article()["id"]
    told = done(newcomer.http.post(f"/v1/articles/{second}/quote", json={}))
    assert (told["co_stake"], told["too_little"] != "") == ("0", True)
    answer = newcomer.http.post(f"/v1/articles/{second}/publications", json={}, headers=key())
    refused(answer, 409, "commons.too_little_chip")


def test_a_draft_with_problems_is_told_all_of_them_and_takes_nothing(served: NodeUnderTest, stranger: Browser) -> None:
    desk = WritersDesk(stranger)
    text = new_text()
    source = add(stranger.http, text)["hash"]
    wrong = (
        markdown(source, text).replace("In 2019 the dampers", "In 2018 the dampers").replace("45 of the", "54 of the")
    )
    copied = " ".join(text.split()[:40])
    article = desk.create(f"{wrong}\n\n{copied}\n")["id"]
    quote = done(stranger.http.post(f"/v1/articles/{article}/quote", json={}))
    assert not quote["would_pass"]
    assert {item["code"] for item in quote["problems"]} >= {"binding", "copied", "density"}
    assert {item["claim"] for item in quote["problems"] if item["code"] == "binding"} == {"c1", "c2"}
    before = balance(served, f"{stranger.owner}/available/CHIP")
    answer = stranger.http.post(f"/v1/articles/{article}/publications", json={}, headers=key())
    refused(answer, 409, "commons.not_publishable")
    assert balance(served, f"{stranger.owner}/available/CHIP") == before
    assert done(stranger.http.get(f"/v1/articles/{article}/versions"))["items"] == []


def test_evidence_of_others_is_not_there(served: NodeUnderTest, desk: WritersDesk, stranger: Browser) -> None:
    mine = WritersDesk(stranger).create(markdown(desk.source))["id"]
    quote = done(stranger.http.post(f"/v1/articles/{mine}/quote", json={}))
    assert quote["problems"][0]["code"] == "source"
    assert quote["bindings"] == []


# Publishing


def test_publishing_takes_stake_and_fee_once_and_ends_in_promotion(
    served: NodeUnderTest, author: Browser, desk: WritersDesk
) -> None:
    account = f"{author.owner}/available/CHIP"
    before = balance(served, account)
    article = desk.article(topics=["engineering"])["id"]
    where, once = f"/v1/articles/{article}/publications", key()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: author.http.post(where, json={}, headers=once), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    starter = 50 * CHIP - balance(served, f"{author.owner}/available.starter/CHIP")
    assert before - balance(served, account) in (100 * CHIP, 100 * CHIP - starter)
    newer = {"text": f"{done(author.http.get(f'/v1/articles/{article}/drafts/1'))['text']}\n\nMore."}
    assert done(author.http.put(f"/v1/articles/{article}/draft", json=newer))["draft"] == 2
    assert author.http.post(where, json={}, headers=once).json()["draft"] == 1  # the same request, the same version
    refused(author.http.post(where, json={"draft": 2}, headers=once), 409, "identity.key_reused")
    other = author.http.post(f"/v1/articles/{desk.draft}/publications", json={}, headers=once)
    refused(other, 409, "identity.key_reused")
    found = desk.wait(article, "promoted")
    assert (found["version"], found["tier"], found["fee"]) == (1, "low", str(10 * CHIP))
    assert found["stake_due_at"] > found["promoted_at"] >= found["window_until"] >= found["submitted_at"]
    shown = done(author.http.get(f"/v1/articles/{article}"))
    assert (shown["state"], shown["versions"]) == ("promoted", 1)
    atom = done(author.http.get(f"/v1/atoms/{found['synthesis']}"))
    assert [step["after"] for step in atom["history"]] == ["UNTRUSTED", "QUARANTINED", "PROMOTION-PENDING", "PROMOTED"]
    bindings = [item for item in atom["rests_on"] if item["kind"] == "BINDING"]
    assert {item["state"] for item in bindings} == {"PROMOTED"}
    attested = done(author.http.get(f"/v1/atoms/{bindings[0]['hash']}"))["attestations"]
    assert [(item["type"], item["result"], item["level"]) for item in attested] == [("BINDING_VALIDITY", "pass", "L2")]


def test_a_key_and_a_draft_that_is_there_are_needed(author: Browser, desk: WritersDesk) -> None:
    where = f"/v1/articles/{desk.article()['id']}/publications"
    refused(author.http.post(where, json={}), 422, "invalid")
    refused(author.http.post(where, json={}, headers={"Idempotency-Key": "x" * 201}), 422, "invalid")
    refused(author.http.post(where, json={"draft": 2}, headers=key()), 404, "commons.draft_unknown")
    for draft in (0, -1, 10**30, 1.5, "x"):
        refused(author.http.post(where, json={"draft": draft}, headers=key()), 422, "invalid")
    refused(
        author.http.post(f"/v1/articles/{NO_ARTICLE}/publications", json={}, headers=key()),
        404,
        "commons.article_unknown",
    )
    for odd in ("article_x", "job_" + "0" * 26, "x" * 200, "article_" + "u" * 26):
        refused(author.http.post(f"/v1/articles/{odd}/publications", json={}, headers=key()), 422, "invalid")


def test_publishing_needs_its_scope_and_an_agent_its_cap(served: NodeUnderTest) -> None:
    author = writer(served, 500)
    desk = WritersDesk(author)
    article = desk.article()["id"]
    where = f"/v1/articles/{article}/publications"
    with author.program("read", "research") as program:
        refused(program.post(where, json={}, headers=key()), 403, "identity.scope_missing")
    agent = author.agent()
    for amount, status in ((99 * CHIP, 409), (100 * CHIP, 201)):
        granted = author.grant(agent, "read", "research", "publish", caps=[cap(amount, "CHIP", "day")])
        with author.program("read", "research", "publish", delegation=granted) as program:
            answer = program.post(where, json={}, headers=key())
            assert answer.status_code in ((status,) if status == 201 else (403, 409)), answer.text
    assert done(author.http.get(f"/v1/articles/{article}"))["authors"] == [author.owner]


def test_a_version_under_way_keeps_the_next_one_waiting_but_not_its_draft(author: Browser, desk: WritersDesk) -> None:
    text = new_text()
    source = add(author.http, text)["hash"]
    disclosed = "```hyperthesis\nOne  survey\tonly.\nbound: its  14 countries\n```"
    slow = desk.create(markdown(source, text, more=disclosed), topics=["health"])["id"]
    assert done(author.http.post(f"/v1/articles/{slow}/quote", json={}))["tier"] == "medium"
    desk.publish(slow)
    assert desk.wait(slow, "in_window")["promoted_at"] is None
    answer = author.http.post(f"/v1/articles/{slow}/publications", json={}, headers=key())
    refused(answer, 409, "commons.article_busy")
    body = {"text": markdown(source, text, more=f"{disclosed}\n\nA new remark."), "topics": ["health"]}
    assert done(author.http.put(f"/v1/articles/{slow}/draft", json=body))["draft"] == 2
    lines = done(author.http.get(f"/v1/articles/{slow}/diff", params={"a": "v1", "b": "d2"}))["lines"]
    assert "+A new remark." in lines


# Reading


def test_everybody_reads_what_is_promoted_with_its_evidence(stranger: Browser, promoted: str) -> None:
    http = stranger.http
    found = done(http.get(f"/v1/articles/{promoted}/rendered"))
    assert (found["version"], found["title"]) == (1, "Why bridges hum")
    assert "<script" not in found["html"]
    assert all(claim in found["html"] for claim, _ in CLAIMS.values())
    assert "L2" in found["html"]
    assert found == done(http.get(f"/v1/articles/{promoted}/rendered", params={"version": 1}))
    refused(http.get(f"/v1/articles/{promoted}/rendered", params={"version": 2}), 404, "commons.publication_unknown")
    for version in (0, 10**10, "x"):
        refused(http.get(f"/v1/articles/{promoted}/rendered", params={"version": version}), 422, "invalid")
    refused(http.get(f"/v1/articles/{promoted}/drafts"), 403, "commons.not_an_author")
    refused(http.get(f"/v1/articles/{promoted}/drafts/1"), 403, "commons.not_an_author")
    refused(http.put(f"/v1/articles/{promoted}/draft", json={"text": PLAIN}), 403, "commons.not_an_author")
    refused(http.post(f"/v1/articles/{promoted}/quote", json={}), 403, "commons.not_an_author")
    mine = http.post(f"/v1/articles/{promoted}/publications", json={}, headers=key())
    refused(mine, 403, "commons.not_an_author")


def test_what_is_promoted_is_listed_for_everybody_page_by_page(
    stranger: Browser, author: Browser, desk: WritersDesk, promoted: str
) -> None:
    listed = [item["id"] for item in all_pages(stranger.http, "/v1/articles", 1)]
    assert promoted in listed
    assert listed == sorted(listed, reverse=True)
    assert desk.draft not in listed
    assert {promoted, desk.draft} <= {item["id"] for item in all_pages(author.http, "/v1/articles", 3, mine="true")}
    for cursor in ("x", "revision_" + "0" * 26, "article_x"):
        refused(stranger.http.get("/v1/articles", params={"cursor": cursor}), 422, "invalid")


@pytest.fixture(scope="module")
def referee() -> Iterator[Referee]:
    policy = default_policy()
    reader = DocumentReader(policy.of(SourcesPolicy))
    yield Referee(reader, policy.of(CommonsPolicy), policy.of(VerifiersPolicy))
    reader.close()


def test_a_bundle_can_be_checked_without_the_node(
    served: NodeUnderTest, stranger: Browser, promoted: str, referee: Referee
) -> None:
    answer = stranger.http.get(f"/v1/articles/{promoted}/bundle")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == f'attachment; filename="{promoted}.zip"'
    report = verify_bundle(answer.content, referee, default_policy().of(CommonsPolicy))
    assert report.passed, report.checks
    assert (report.article, report.version, report.state) == (promoted, 1, "promoted")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        assert {"manifest.json", "manifest.sig"} <= set(file.namelist())
    refused(stranger.http.get(f"/v1/articles/{promoted}/bundle?version=2"), 404, "commons.publication_unknown")


def test_an_assertion_says_which_sentences_stand(stranger: Browser, promoted: str) -> None:
    claim = CLAIMS["c1"][0]

    def ask(**body: Any) -> httpx.Response:
        return stranger.http.post("/v1/assertions", json=body)

    found = done(ask(text=f"{claim}. The moon is made of cheese."))
    assert [item["standing"] for item in found["sentences"]] == ["stands", "plain"]
    assert (found["stands"], len(found["sentences"][0]["bindings"]) > 0) == (1, True)
    marked = done(ask(text="[The moon is made of cheese]{#c1}."))
    assert [item["standing"] for item in marked["sentences"]] == ["unsupported"]
    whole = done(ask(article=promoted))
    assert sum(item["standing"] == "stands" for item in whole["sentences"]) == len(CLAIMS)
    assert done(ask(article=promoted, version=1)) == whole
    refused(ask(article=promoted, version=2), 404, "commons.publication_unknown")
    refused(ask(), 422, "invalid")
    refused(ask(text="x", article=promoted), 422, "invalid")
    refused(ask(article="article_x"), 422, "invalid")
    refused(ask(article=promoted, version=10**30), 422, "invalid")
    refused(ask(text="a\0b"), 422, "commons.bad_article")
    refused(ask(text="One. " * 2_001), 422, "commons.bad_article")


# Retracting


def test_authors_retract_and_what_fell_is_never_citable_again(
    served: NodeUnderTest, author: Browser, desk: WritersDesk, stranger: Browser
) -> None:
    article = desk.article(topics=["engineering"])["id"]
    where = f"/v1/articles/{article}"

    def retract(who: Browser, reason: str = "a mistake") -> httpx.Response:
        return who.http.post(f"{where}/retraction", json={"reason": reason})

    refused(retract(author), 409, "commons.nothing_to_retract")
    before = balance(served, f"{author.owner}/available/CHIP") + balance(
        served, f"{author.owner}/available.starter/CHIP"
    )
    desk.publish(article)
    desk.wait(article, "promoted")
    refused(retract(stranger), 403, "commons.not_an_author")
    for reason in ("", "\0", "\u200b", "x" * 501):
        refused(retract(author, reason), 422, "invalid")
    fallen = done(retract(author, "two\nlines\u202e\0"))
    assert fallen["state"] == "retracted"
    assert fallen["stake_due_at"] is not None  # it answers for what it promoted until then
    history = done(stranger.http.get(f"/v1/atoms/{fallen['synthesis']}"))["history"]
    assert (history[-1]["after"], history[-1]["reason"]) == ("RETRACTED", "its authors took it back")
    after = balance(served, f"{author.owner}/available/CHIP") + balance(
        served, f"{author.owner}/available.starter/CHIP"
    )
    assert before - after == 100 * CHIP  # the fee, and the stake until it is due
    refused(retract(author), 409, "commons.nothing_to_retract")
    again = author.http.post(f"{where}/publications", json={}, headers=key())
    refused(again, 409, "commons.not_publishable")
    assert article not in {item["id"] for item in all_pages(stranger.http, "/v1/articles", 100)}
