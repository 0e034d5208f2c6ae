"""The SDK's rooms of the commons against a running node: the whole life of an article, by waiting and by awaiting."""

from __future__ import annotations

import asyncio
import io
import zipfile

import pytest

from choir.commons.challenges.model import OwnArticle
from choir.commons.publication.model import NotPublishable
from choir.doors.articles.shapes import PublicationOut
from choir.sdk import AsyncClient, Client
from tests.commons.desk import CLAIMS, FILLER
from tests.doors.http.press import new_text, writer
from tests.doors.http.visitors import Browser
from tests.operations.nodes import NodeUnderTest, until

SCOPES = ("read", "research", "publish", "challenge")


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 2_000)


@pytest.fixture(scope="module")
def rival(served: NodeUnderTest) -> Browser:
    return writer(served, 2_000)


def client_of(who: Browser) -> Client:
    return Client(who.node.url, who.make_token(*SCOPES)["secret"])


def written(evidence: list[str], title: str) -> str:
    """An article with three claims, and these lines of evidence."""
    body = "\n\n".join(f"We read that [{claim}]{{#{label}}}." for label, (claim, _) in CLAIMS.items())
    return f"# {title}\n\n{body}\n\n{FILLER}\n\n```evidence\n" + "\n".join(evidence) + "\n```\n"


def newest(client: Client, article: str) -> PublicationOut:
    return client.articles.versions(article).items[0]


def test_the_life_of_an_article(served: NodeUnderTest, author: Browser, rival: Browser) -> None:
    with client_of(author) as writes, client_of(rival) as doubts, served.client() as operator:
        source = writes.sources.add(new_text().encode(), title="A survey", filename="survey.txt")
        assert writes.sources.get(source.hash) == source
        assert next(iter(writes.sources.all(mine=True, limit=1))).hash == source.hash
        evidence = []
        for label, (_, quote) in CLAIMS.items():
            [span] = writes.sources.find(quote, source=source.hash).items
            assert span.text == quote
            evidence.append(f"{label} supports {span.pointer} confidence=0.9")
        claim = writes.atoms.claim(CLAIMS["c1"][0])
        extract = writes.atoms.extract(evidence[0].split()[2])
        binding = writes.atoms.binding(claim.hash, evidence[0].split()[2])
        assert {item.hash for item in writes.atoms.get(binding.hash).rests_on} == {claim.hash, extract.hash}

        article = writes.articles.create(written(evidence[:1], "By a program"), topics=["engineering"], key="sdk 1")
        assert (
            writes.articles.create(written(evidence[:1], "By a program"), topics=["engineering"], key="sdk 1")
            == article
        )
        poor = writes.articles.quote(article.id)
        assert (poor.would_pass, [item.code for item in poor.problems]) == (False, ["density"])
        with pytest.raises(NotPublishable):
            writes.articles.publish(article.id)
        saved = writes.articles.save(article.id, written(evidence, "By a program"), topics=["engineering"], base=1)
        assert (saved.draft, len(writes.articles.drafts(article.id).items)) == (2, 2)
        assert writes.articles.draft(article.id, 2).text == written(evidence, "By a program")
        assert writes.articles.diff(article.id, "d1", "d2").lines
        assert writes.articles.quote(article.id, draft=2).would_pass

        published = writes.articles.publish(article.id, key="sdk 2")
        assert writes.articles.publish(article.id, key="sdk 2").id == published.id
        until(lambda: newest(writes, article.id).state == "promoted")
        assert article.id in [item.id for item in doubts.articles.all(limit=50)]
        assert doubts.articles.read(article.id).title == "By a program"
        assert doubts.articles.assert_text(f"{CLAIMS['c1'][0]}.").stands == 1
        assert doubts.articles.assert_article(article.id).stands == 3
        with zipfile.ZipFile(io.BytesIO(doubts.articles.bundle(article.id))) as bundle:
            assert "manifest.json" in bundle.namelist()
        assert doubts.articles.boost(article.id, key="sdk 3").article == article.id
        proposed = doubts.articles.revise(article.id, "# By a program\n\nShorter.", "shorter")
        assert [item.id for item in writes.articles.revisions(article.id)] == [proposed.id]
        assert writes.articles.vote(proposed.id, accepts=False).state == "refused"
        assert doubts.articles.revision(proposed.id).state == "refused"

        synthesis = newest(doubts, article.id).synthesis
        with pytest.raises(OwnArticle):
            writes.challenges.open(synthesis, "misleading", "It is mine.")
        opened = doubts.challenges.open(synthesis, "misleading", "It leaves out calm days.", key="sdk 4")
        assert doubts.challenges.open(synthesis, "misleading", "It leaves out calm days.", key="sdk 4").id == opened.id
        until(lambda: doubts.challenges.get(opened.id).state == "under_review")
        assert opened.id in [item.id for item in operator.challenges.all(to_rule=True)]
        assert operator.challenges.rule(opened.id, upheld=True, reasoning="It does.").state == "won"
        assert newest(doubts, article.id).state == "demoted"
        assert [item.id for item in doubts.challenges.all(mine=True)] == [opened.id]


def test_the_same_by_awaiting(served: NodeUnderTest, rival: Browser) -> None:
    """By another than the author above, whose lost challenge makes the risk higher and the window longer."""
    token = rival.make_token(*SCOPES)["secret"]

    async def live() -> str:
        async with AsyncClient(served.url, token) as client:
            source = await client.sources.add(new_text().encode(), title="A survey")
            spans = [await client.sources.find(quote, source=source.hash) for _, quote in CLAIMS.values()]
            evidence = [
                f"{label} supports {found.items[0].pointer}" for label, found in zip(CLAIMS, spans, strict=True)
            ]
            article = await client.articles.create(written(evidence, "Awaited"), topics=["engineering"])
            assert (await client.articles.quote(article.id)).would_pass
            await client.articles.publish(article.id)
            while (state := (await client.articles.versions(article.id)).items[0].state) != "promoted":
                assert state in ("in_review", "in_window")
                await asyncio.sleep(0.2)
            assert article.id in [item.id async for item in client.articles.all(limit=50)]
            return (await client.articles.retract(article.id, "a mistake")).state

    assert asyncio.run(live()) == "retracted"
