"""The life of an article: quote, stake, review, window, promotion, and the way back of the stake."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from choir.commons.articles.model import ArticleBusy, ArticleState, ArticleTooLarge, BadArticle, NotAnAuthor
from choir.commons.atoms import store
from choir.commons.atoms.model import Kind, State
from choir.commons.atoms.schemas import Synthesis
from choir.commons.challenges.model import Ground
from choir.commons.publication.model import NothingToRetract, NotPublishable, PublicationState, RiskTier
from choir.commons.stakes.model import TooLittleChip
from choir.foundation.errors import ChoirError
from choir.identity.model import KeyReused, Principal
from choir.objects.model import Corrupt
from tests.commons.desk import CHIP, CLAIMS, DAY_S, FILLER, TEXT, Desk, chip, markdown

GENESIS = 5_000_000 * CHIP


def test_an_article_becomes_citable_and_its_stake_comes_back(desk: Desk) -> None:
    ada = desk.person(chip=150)
    publication = desk.published(ada)
    assert publication.state is PublicationState.IN_WINDOW
    assert desk.own(ada) == chip(50)
    assert desk.held() == chip(90)
    assert desk.treasury() == (GENESIS, 0, chip(10))
    assert publication.tier is RiskTier.LOW
    desk.later(DAY_S - 1)
    assert desk.publication(publication.id).state is PublicationState.IN_WINDOW
    desk.later(1)
    promoted = desk.publication(publication.id)
    assert promoted.state is PublicationState.PROMOTED
    assert all(states == {State.PROMOTED.value} for states in desk.bundle(promoted).values())
    assert set(desk.bundle(promoted)) == {Kind.SOURCE, Kind.EXTRACT, Kind.CLAIM, Kind.BINDING, Kind.SYNTHESIS}
    desk.later(30 * DAY_S - 1)
    assert desk.held() == chip(90)
    desk.later(1)
    assert desk.held() == 0
    assert desk.own(ada) == chip(140)
    desk.later(DAY_S)
    assert desk.own(ada) == chip(140)


def test_an_author_sees_what_is_at_stake_and_when_it_comes_back(desk: Desk) -> None:
    ada, bob = desk.person(chip=150), desk.person()
    publication = desk.published(ada)
    at_stake = desk.commons.publications.at_stake
    with desk.tx() as tx:
        ((stake, version),) = at_stake(tx, ada.source, 10)
        assert (stake.amount, version) == (chip(90), publication)
        assert at_stake(tx, bob.source, 10) == []
    desk.later(DAY_S)
    with desk.tx() as tx:
        ((_, version),) = at_stake(tx, ada.source, 10)
        assert version is not None
        assert version.stake_due_us == desk.clock.now_us() + 30 * DAY_S * 1_000_000
    desk.later(30 * DAY_S)
    with desk.tx() as tx:
        assert at_stake(tx, ada.source, 10) == []


def test_a_preview_shows_what_the_verifiers_say_of_a_draft(desk: Desk) -> None:
    ada = desk.person()
    source = desk.source(ada).hash
    start = TEXT.index("Wind caused")
    lines = f"c1 supports {source}@{start}-{start + 47}\nc2 supports sha256:{'0' * 64}@1-2\n"
    said = "[Wind caused vibration in 90 of the 120 bridges]{#c1}. [Unknown]{#c2}."
    text = f"# A <b>\n\n{said}\n\n```evidence\n{lines}```\n"
    examined = desk.examine(ada, desk.draft(ada, text).id)
    with desk.tx() as tx:
        html = desk.commons.reading.preview(tx, ada, examined)
    assert '<span class="claim" id="claim-c1" data-level="failed"' in html
    assert "Wind caused vibration in 45 of the 120 bridges." in html
    assert "not checked" in html  # there is no such source
    assert "A &lt;b&gt;" in html


def test_a_newcomer_is_co_staked_once(desk: Desk) -> None:
    ada = desk.person(starter=50)
    publication = desk.published(ada)
    assert (desk.own(ada), desk.starter(ada)) == (0, 0)
    assert desk.treasury() == (GENESIS - chip(50), 0, chip(10))
    desk.later(8 * DAY_S)
    desk.later(31 * DAY_S)
    assert desk.publication(publication.id).stake_due_us is None
    assert desk.starter(ada) == chip(40)
    assert desk.treasury()[0] == GENESIS
    again = desk.draft(ada, markdown(desk.source(ada).hash, title="Another"))
    with pytest.raises(TooLittleChip):
        desk.submit(ada, again, key="second")


def test_whoever_has_too_little_stakes_nothing(desk: Desk) -> None:
    ada = desk.person(starter=49)
    article = desk.draft(ada, markdown(desk.source(ada).hash))
    quote = desk.quote(ada, article)
    assert quote.would_pass
    assert quote.contribution is None
    assert "100" in quote.too_little
    with pytest.raises(TooLittleChip):
        desk.submit(ada, article)
    assert desk.starter(ada) == chip(49)
    assert desk.held() == 0


def test_the_same_key_publishes_once(desk: Desk) -> None:
    ada = desk.person(chip=300)
    article = desk.draft(ada, markdown(desk.source(ada).hash))
    first, again = desk.submit(ada, article), desk.submit(ada, article)
    assert first.id == again.id
    assert desk.own(ada) == chip(200)
    with pytest.raises(ArticleBusy):
        desk.submit(ada, article, key="other")
    other = desk.draft(ada, markdown(desk.source(ada).hash, title="Another"))
    with pytest.raises(KeyReused):
        desk.submit(ada, other)


def test_a_draft_with_a_wrong_number_is_refused_before_anything_is_staked(desk: Desk) -> None:
    ada = desk.person(chip=150)
    text = markdown(desk.source(ada).hash).replace("in 45 of the 120", "in 54 of the 120")
    article = desk.draft(ada, text)
    quote = desk.quote(ada, article)
    assert not quote.would_pass
    assert any(problem.label == "c1" for problem in quote.problems)
    with pytest.raises(NotPublishable):
        desk.submit(ada, article)
    assert desk.own(ada) == chip(150)


def test_a_copied_run_is_refused(desk: Desk) -> None:
    ada = desk.person(chip=150)
    copied = TEXT.split("\n\n")[0].replace(".", ",") + " " + TEXT.split("\n\n")[1]
    article = desk.draft(ada, markdown(desk.source(ada).hash, more=copied))
    with pytest.raises(NotPublishable, match="words in a row"):
        desk.submit(ada, article)


def test_too_little_evidence_is_refused(desk: Desk) -> None:
    ada = desk.person(chip=150)
    words = " ".join(f"word{n}" for n in range(700))
    article = desk.draft(ada, markdown(desk.source(ada).hash, more=words))
    with pytest.raises(NotPublishable, match="verified bindings are needed"):
        desk.submit(ada, article)


def test_a_sensitive_topic_needs_a_disclosed_hyperthesis(desk: Desk) -> None:
    ada = desk.person(chip=150)
    source = desk.source(ada)
    bare = desk.draft(ada, markdown(source.hash), ["health"])
    with pytest.raises(NotPublishable, match="hyperthesis"):
        desk.submit(ada, bare)
    block = "```hyperthesis\nOnly bridges with records were surveyed.\nbound: bridges in 14 countries\n```"
    disclosed = desk.draft(ada, markdown(source.hash, more=block), ["health"])
    publication = desk.review(desk.submit(ada, disclosed, key="disclosed"))
    assert publication.state is PublicationState.IN_WINDOW
    assert publication.tier is not RiskTier.LOW
    assert Kind.HYPERTHESIS in desk.bundle(publication)


def test_a_source_that_was_tampered_with_is_found_in_review(desk: Desk, superuser_dsn: str) -> None:
    """Whoever changes stored bytes behind the node's back gets nothing promoted."""
    ada = desk.person(chip=150)
    source = desk.source(ada)
    publication = desk.submit(ada, desk.draft(ada, markdown(source.hash)))
    with psycopg.connect(superuser_dsn) as connection:
        connection.execute(
            "update object_pieces set data = overlay(data placing '\\x58'::bytea from 1) where object ="
            " (select id from objects where digest = %s)",
            (bytes.fromhex(source.bytes.removeprefix("sha256:")),),
        )
    with pytest.raises(Corrupt):
        desk.review(publication)
    assert desk.publication(publication.id).state is PublicationState.IN_REVIEW


def test_authors_take_a_version_back(desk: Desk) -> None:
    ada, bob = desk.person(chip=150), desk.person()
    publication = desk.published(ada)
    commons = desk.commons.publications
    with pytest.raises(NotAnAuthor):
        desk.write(lambda tx: commons.retract(tx, bob, publication.article, "no"))
    ended = desk.write(lambda tx: commons.retract(tx, ada, publication.article, "a mistake"))
    assert ended.state is PublicationState.RETRACTED
    assert desk.own(ada) == chip(140)
    states = desk.bundle(ended)
    assert states[Kind.SYNTHESIS] == {State.RETRACTED.value}
    assert states[Kind.BINDING] == {State.QUARANTINED.value}
    desk.later(40 * DAY_S)
    assert desk.publication(publication.id).state is PublicationState.RETRACTED
    with pytest.raises(NothingToRetract):
        desk.write(lambda tx: commons.retract(tx, ada, publication.article, "again"))
    article = desk.write(lambda tx: desk.commons.articles.get(tx, bob, publication.article))
    assert article.state is ArticleState.RETRACTED
    with pytest.raises(NotPublishable, match="retracted"):
        desk.submit(ada, article, key="the same text again")


def test_a_later_version_goes_the_same_way(desk: Desk) -> None:
    ada = desk.person(chip=250)
    first = desk.promoted(ada)
    with desk.tx() as tx:
        article = desk.commons.articles.get(tx, ada, first.article)
        text = desk.commons.articles.draft(tx, ada, first.article).text
    read = desk.commons.articles.read(text + "\nMore to come.\n", None, None)
    desk.write(lambda tx: desk.commons.articles.save(tx, ada, article.id, read))
    second = desk.review(desk.submit(ada, article, key="second"))
    assert second.version == 2
    assert desk.publication(first.id).state is PublicationState.PROMOTED
    desk.later(8 * DAY_S)
    assert desk.publication(second.id).state is PublicationState.PROMOTED


def test_an_article_is_not_promoted_on_what_fell_elsewhere(desk: Desk) -> None:
    """Two articles put the same binding at stake; it is challenged in the one, so the other falls with it."""
    ada, bob, eve = desk.person(chip=100), desk.person(chip=100), desk.person(chip=100)
    source = desk.source(ada)
    first = desk.review(desk.submit(ada, desk.draft(ada, markdown(source.hash))))
    desk.write(lambda tx: desk.commons.atoms.readable(tx, bob, [source.hash]))
    second = desk.review(desk.submit(bob, desk.draft(bob, markdown(source.hash, title="The same evidence"))))
    shared = desk.bindings(second)[0]
    challenge = desk.judge(desk.challenge(eve, shared.hash, Ground.OTHER))
    desk.later(8 * DAY_S)
    assert {desk.publication(item.id).state for item in (first, second)} == {PublicationState.IN_WINDOW}
    desk.rule(challenge, upheld=True)
    desk.later(8 * DAY_S)
    for item in (first, second):
        assert desk.publication(item.id).state is PublicationState.DEMOTED
        assert desk.synthesis(item).state is State.QUARANTINED
    assert desk.held() == 0
    assert desk.own(eve) == chip(100 + 45 + 45)


def test_only_a_promoted_article_can_be_cited(desk: Desk) -> None:
    """Else an article of low risk could bring one of high risk through its own, shorter window."""
    ada, bob = desk.person(chip=100), desk.person(chip=100)
    publication = desk.published(ada)
    with desk.tx() as tx:
        [own_text] = [atom for atom in store.carries(tx, publication.synthesis, 10) if atom.kind is Kind.SOURCE]
        text = desk.commons.sources.text(tx, bob, own_text.hash)
    claim = CLAIMS["c1"][0]
    start = text.index(claim)
    cites = (
        f"# Cites\n\n[{claim}]{{#c1}}.\n\n```evidence\nc1 supports {own_text.hash}@{start}-{start + len(claim)}\n```\n"
    )
    quote = desk.quote(bob, desk.draft(bob, cites))
    assert "not_promoted" in {problem.code for problem in quote.problems}
    desk.later(8 * DAY_S)
    quote = desk.quote(bob, desk.draft(bob, cites))
    assert "not_promoted" not in {problem.code for problem in quote.problems}


@pytest.mark.parametrize(
    ("title", "topics"),
    [
        ("a\u200bb", None),
        ("x" * 301, None),
        ("\u202eevil", None),
        ("   ", None),
        ("nul\0", None),
        (None, ["Not A Topic"]),
        (None, ["x" * 41]),
        (None, [f"t{n}" for n in range(9)]),
        (None, [""]),
    ],
)
def test_titles_and_topics_are_read_strictly(desk: Desk, title: str | None, topics: list[str] | None) -> None:
    with pytest.raises((BadArticle, ArticleTooLarge)):
        desk.commons.articles.read("# Why bridges hum\n\nText.", title, topics)


def test_odd_claims_are_refused_not_broken(desk: Desk) -> None:
    """Whatever the syntax lets through becomes an atom or a refusal, never an error of ours."""
    ada = desk.person(chip=150)
    source = desk.source(ada)
    for text in (
        "a\ue000b c d",
        "x\ufe0f y z",
        "\u00ad soft",
        "tab\there",
        "ends with space ",
        "ﬁne ligature",
        "a\u00a0b",
    ):
        try:
            article = desk.draft(ada, markdown(source.hash).replace("Wind caused vibration", text))
            desk.submit(ada, article, key=text)
        except ChoirError:
            continue


def test_publishing_much_evidence_asks_the_database_no_oftener(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While locks are held: what grows with the article is made ready before, or written at once."""
    ada, asked, stage = desk.person(chip=1000), Counter[str](), ""
    execute = psycopg.Connection.execute

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        asked[stage] += 1
        return execute(self, *given, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    publications = desk.commons.publications
    for claims in (5, 40):
        article = desk.draft(ada, _long_article(desk, ada, claims))
        examined = publications.make_ready(desk.node.read, ada, desk.examine(ada, article.id))
        stage = f"publish {claims}"
        publication = desk.write(lambda tx: publications.publish(tx, ada, examined, article.title))[0]  # noqa: B023
        stage = f"review {claims}"
        desk.review(publication)
        stage = f"promote {claims}"
        desk.later(8 * DAY_S)
        stage = ""
        assert len(desk.bindings(publication)) == claims
        assert all(states == {State.PROMOTED.value} for states in desk.bundle(publication).values())
    for act in ("publish", "review", "promote"):
        assert 0 < asked[f"{act} 40"] <= asked[f"{act} 5"]


def _long_article(desk: Desk, who: Principal, claims: int) -> str:
    facts = [f"Bridge number {n} was measured {n * 7 + 3} times in the year {1900 + n}." for n in range(claims)]
    text = "\n\n".join(facts)
    source = desk.source(who, text).hash
    body = "\n\n".join(f"We read that [{fact[:-1]}]{{#c{n}}}." for n, fact in enumerate(facts))
    places = [(text.index(fact), text.index(fact) + len(fact)) for fact in facts]
    lines = "\n".join(f"c{n} supports {source}@{start}-{end}" for n, (start, end) in enumerate(places))
    blind = "```hyperthesis\nThe counts may be wrong.\nbound: these bridges alone\n```"
    return f"# On {claims} bridges\n\n{body}\n\n{FILLER}\n\n{blind}\n\n```evidence\n{lines}\n```\n"


def test_what_was_made_ready_is_put_together_anew_if_another_version_came_between(desk: Desk) -> None:
    ada = desk.person(chip=1000)
    publications = desk.commons.publications
    article = desk.draft(ada, markdown(desk.source(ada).hash))
    ready = publications.make_ready(desk.node.read, ada, desk.examine(ada, article.id))
    first = desk.review(desk.submit(ada, article, "first"))
    desk.later(8 * DAY_S)
    second = desk.write(lambda tx: publications.publish(tx, ada, ready, "second"))[0]
    with desk.tx() as tx:
        content = desk.commons.atoms.content(tx, desk.synthesis(second).hash)
    assert isinstance(content, Synthesis)
    assert content.previous == desk.synthesis(first).hash
