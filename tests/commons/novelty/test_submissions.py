"""Novelty on a real database: one order of submissions, fixed scores, rewards that vest, months that hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from choir.commons.citations.policy import CitationsPolicy
from choir.commons.novelty import store
from choir.commons.novelty.model import CorpusBusy, NoveltyReward, NoveltyScore
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.passages import store as passage_store
from choir.commons.passages.embedding import Vector
from choir.commons.publication.model import NotPublishable, Publication, PublicationState, publication_id
from choir.foundation.money import Asset
from choir.identity.model import Principal
from choir.storage.database import Database
from tests.commons.desk import DAY_S
from tests.commons.library import Library

TEXTS = Path(__file__).with_name("texts")
POLICY = NoveltyPolicy(young_passages=0)


def text(subject: str, variant: str = "original") -> str:
    return (TEXTS / subject / f"{variant}.txt").read_text()


@pytest.fixture
def library(database: Database, tmp_path: Path) -> Library:
    return Library(database, tmp_path, novelty=POLICY)


def score(library: Library, publication: Publication) -> NoveltyScore:
    with library.tx() as tx:
        found = store.get(tx, publication.id)
    assert found is not None
    return found


def reward(library: Library, publication: Publication) -> NoveltyReward:
    with library.tx() as tx:
        found = store.reward(tx, publication.id)
    assert found is not None
    return found


def test_new_work_is_granted_what_it_was_quoted_and_vests(library: Library) -> None:
    ada = library.writer()
    article = library.write_article(ada, words=text("clocks"))
    quote = library.quote(ada, article).novelty
    assert quote.score >= 30
    assert quote.reward > 0
    publication = library.review(library.submit(ada, article))
    fixed = score(library, publication)
    assert (fixed.score, fixed.quoted, fixed.position) == (quote.score, quote.reward, 1)
    assert fixed.model == library.commons.index.embedder.name
    assert fixed.calibration.startswith(fixed.model)
    assert library.vesting_of(ada, "novelty", Asset.CHIP) == 0
    library.later(DAY_S)
    assert library.vesting_of(ada, "novelty", Asset.CHIP) == quote.reward
    own = library.own(ada)
    library.later(91 * DAY_S)
    assert library.vesting_of(ada, "novelty", Asset.CHIP) == 0
    assert library.own(ada) == own + quote.reward + 90_000_000  # and the stake came back


@pytest.mark.parametrize("variant", ["original", "paraphrase", "retranslation"])
def test_what_was_said_before_is_refused_or_earns_nothing(library: Library, variant: str) -> None:
    library.promote(library.writer(), words=text("clocks"))
    ben = library.writer()
    quote = library.quote(ben, library.write_article(ben, words=text("clocks", variant))).novelty
    assert quote.reward == 0
    if variant == "original":
        assert quote.refused
        assert "On" in quote.reasons[0] or "Part" in quote.reasons[0]


@pytest.mark.parametrize("variant", ["opposite", "fresh"])
def test_another_conclusion_and_new_content_are_new(library: Library, variant: str) -> None:
    library.promote(library.writer(), words=text("clocks"))
    ben = library.writer()
    quote = library.quote(ben, library.write_article(ben, words=text("clocks", variant))).novelty
    assert quote.score >= 20
    assert quote.reward > 0


def test_an_authors_own_article_is_earlier_work_too(library: Library) -> None:
    ada = library.writer()
    library.promote(ada, words=text("trees"))
    article = library.write_article(ada, words=text("trees"))
    with pytest.raises(NotPublishable, match="not new"):
        library.submit(ada, article, "again")


def test_of_one_text_by_many_at_once_one_is_new(library: Library) -> None:
    people = [library.writer() for _ in range(6)]
    drafts = [library.write_article(who, words=text("week")) for who in people]
    publications = library.commons.publications
    examined = [library.examine(who, draft.id) for who, draft in zip(people, drafts, strict=True)]  # all before any

    def submit(n: int) -> Publication | None:
        try:
            return library.write(lambda tx: publications.publish(tx, people[n], examined[n], "k"))[0]
        except NotPublishable:
            return None

    before = [library.own(who) for who in people]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(submit, range(6)))
    assert sum(item is not None for item in made) == 1
    for who, had, item in zip(people, before, made, strict=True):
        assert (library.own(who) == had) is (item is None)  # nothing was staked by those who came later


def test_what_a_review_refused_is_no_earlier_work(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    article = library.write_article(ada, words=text("week"))
    publication = library.submit(ada, article)
    with library.tx() as tx:
        head = passage_store.head(tx)
        library.commons.novelty.withdraw(tx, publication.id)
        assert passage_store.head(tx).passages < head.passages
    quote = library.quote(ben, library.write_article(ben, words=text("week"))).novelty
    assert quote.score >= 30


def test_others_private_sources_are_not_looked_at(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    library.source(ada, text("trees"), "A private note")
    assert library.quote(ben, library.write_article(ben, words=text("trees"))).novelty.score >= 30


def test_two_articles_a_month_are_rewarded(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path, novelty=replace(POLICY, rewarded_per_month=1))
    ada = library.writer()
    first = library.promote(ada, words=text("clocks"))
    second = library.promote(ada, words=text("trees"))
    assert reward(library, first).nominal > 0
    assert reward(library, second).nominal == 0
    assert "rewarded in this month" in reward(library, second).why
    library.later(40 * DAY_S)
    third = library.promote(ada, words=text("week"))
    assert reward(library, third).nominal > 0


def test_a_month_emits_no_more_than_its_budget(database: Database, tmp_path: Path) -> None:
    budget = 50_000_000
    library = Library(database, tmp_path, novelty=replace(POLICY, emission_month=budget))
    people = [library.writer() for _ in range(3)]
    made = [
        library.promote(who, words=text(subject))
        for who, subject in zip(people, ("clocks", "trees", "week"), strict=True)
    ]
    nominal = [reward(library, item).nominal for item in made]
    assert sum(nominal) > budget
    own = [library.own(who) for who in people]
    library.later(5 * DAY_S)
    assert [library.own(who) for who in people] == own  # nothing before the month is over
    library.later(120 * DAY_S)
    granted = [reward(library, item).granted for item in made]
    assert granted == [amount * budget // sum(nominal) for amount in nominal]
    for who, had, amount in zip(people, own, granted, strict=True):
        assert abs(library.own(who) - had - 90_000_000 - amount) <= 1
    assert sum(granted) <= budget


def test_what_has_not_vested_goes_back_when_an_article_falls(library: Library) -> None:
    ada = library.writer()
    publication = library.promote(ada, words=text("clocks"))
    library.later(45 * DAY_S)
    left = library.vesting_of(ada, "novelty", Asset.CHIP)
    assert left > 0
    emitted = library.balance("system:commons/issuance/CHIP")
    library.write(lambda tx: library.commons.publications.retract(tx, ada, publication.article, "I was wrong"))
    library.tend()
    assert library.vesting_of(ada, "novelty", Asset.CHIP) == 0
    assert library.balance("system:commons/issuance/CHIP") == emitted + left


def test_who_was_copied_is_paid_by_the_copier(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    original = library.promote(ada, words=text("clocks"))
    new = [text("trees"), text("week"), text("trees", "fresh"), text("week", "fresh"), text("week", "opposite")]
    whole = "\n\n".join([*new, changed(text("clocks"))])
    mixed = library.promote(ben, words=whole)
    with library.tx() as tx:
        words, copies = store.copied_words(tx, mixed.id)
        grants = library.vesting.by_subject(tx, publication_id(mixed.id))
    assert list(copies) == [original.article]
    assert 0 < copies[original.article] < words
    nominal = reward(library, mixed).nominal
    shares = {item.owner: item.amount for item in grants}
    assert sum(shares.values()) == nominal
    assert shares[ada.source] == nominal * copies[original.article] // words


def changed(words: str) -> str:
    """Nearly the same words, so that nothing is copied word for word."""
    found = words.split()
    return " ".join(f"{word} indeed" if n % 20 == 19 else word for n, word in enumerate(found))


def test_a_revision_earns_only_for_what_differs(library: Library) -> None:
    ada = library.writer()
    first = library.promote(ada, words=text("clocks"))
    longer = f"{text('clocks')}\n\n{text('trees')}"
    revise(library, ada, first, longer)
    with library.tx() as tx:
        versions = library.commons.publications.versions(tx, ada, first.article)
    newest = score(library, versions[0])
    assert newest.words < len(longer.split()) - len(text("clocks").split()) // 2
    assert newest.score > 0


def test_a_revision_that_changes_a_word_is_published_and_earns_nothing(library: Library) -> None:
    ada = library.writer()
    first = library.promote(ada, words=text("clocks"))
    second = revise(library, ada, first, text("clocks").replace("clock", "timepiece", 1))
    assert second.state is PublicationState.IN_WINDOW
    assert score(library, second).quoted == 0


def revise(library: Library, who: Principal, first: Publication, words: str, key: str = "revised") -> Publication:
    from tests.commons.library import prose_text

    source = library.source(who)
    read = library.commons.articles.read(prose_text(source.hash, 99, words), None, None)
    library.write(lambda tx: library.commons.articles.save(tx, who, first.article, read))
    with library.tx() as tx:
        article = library.commons.articles.get(tx, who, first.article)
    return library.review(library.submit(who, article, key))


def test_a_copy_attached_as_a_source_does_not_hide_whose_it_is(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    original = library.promote(ada, words=text("clocks"))
    library.source(ben, changed(text("clocks")), "My notes")
    new = [text("trees"), text("week"), text("trees", "fresh"), text("week", "fresh"), text("week", "opposite")]
    mixed = library.promote(ben, words="\n\n".join([*new, changed(text("clocks"))]))
    with library.tx() as tx:
        assert list(store.copied_words(tx, mixed.id)[1]) == [original.article]


def test_revisions_do_not_turn_into_somebody_elses_work(library: Library) -> None:
    """First one's own text, then half of it the victim's, then all of it."""
    ada, eve = library.writer(), library.writer()
    mine = library.promote(eve, words=text("trees"))
    library.promote(ada, words=text("clocks"))
    victim, own = changed(text("clocks")), text("trees")
    steps = (f"{own}\n\n{victim}", f"{own[: len(own) // 2]}\n\n{victim}", victim)
    made = [went_through(library, eve, mine, words, f"r{n}") for n, words in enumerate(steps)]
    assert not all(made)


def went_through(library: Library, who: Principal, first: Publication, words: str, key: str) -> bool:
    try:
        revise(library, who, first, words, key)
    except NotPublishable:
        return False
    library.later(DAY_S)
    return True


def test_a_version_that_falls_does_not_press_the_month(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path, novelty=replace(POLICY, emission_month=100_000_000))
    ada, eve = library.writer(), library.writer()
    honest = library.promote(ada, words=text("clocks"))
    noise = library.promote(eve, words=text("trees"))
    library.write(lambda tx: library.commons.publications.retract(tx, eve, noise.article, "never mind"))
    library.later(60 * DAY_S)
    found = reward(library, honest)
    assert found.granted == min(found.nominal, 100_000_000)


def test_a_scaled_reward_still_vests_over_its_time(database: Database, tmp_path: Path) -> None:
    library = Library(database, tmp_path, novelty=replace(POLICY, emission_month=3_000_000))
    ada = library.writer()
    library.promote(ada, words=text("clocks"))
    own = library.own(ada)
    library.later(31 * DAY_S)  # the month is over; the stake comes back
    released = library.own(ada) - own - 90_000_000
    assert 0 < released < 1_500_000
    library.later(70 * DAY_S)
    assert library.own(ada) - own - 90_000_000 == 3_000_000


class OtherModel:
    """Another embedder, as a configuration might name one."""

    name = "other/1"
    dims = 256

    def embed(self, texts: list[str]) -> list[Vector]:
        return [tuple((len(word) * 7 + n) % 100 - 50 for n, word in zip(range(256), item * 300)) for item in texts]  # noqa: B905


def test_another_model_embeds_everything_again_before_anything_is_measured(library: Library) -> None:
    ada, ben = library.writer(), library.writer()
    library.promote(ada, words=text("clocks"))
    draft = library.write_article(ben, words=text("trees"))
    library.commons.index.embedder = OtherModel()  # type: ignore[assignment]
    with pytest.raises(CorpusBusy):
        library.quote(ben, draft)
    from tests.commons.desk import task

    library.rounds.embed(task("commons.embed", ""))
    assert library.quote(ben, draft).novelty.model == "other/1"


def test_the_same_submissions_score_the_same_on_another_machine(
    databases: object, database: Database, tmp_path: Path
) -> None:
    """Two fresh databases, the same clock and chance: the same scores and the same last hash."""
    found = [_history(database, tmp_path / "a")]
    name = databases.make()  # type: ignore[attr-defined]
    other = Database(databases.server.dsn("choir_app", name), wait_s=30).open()  # type: ignore[attr-defined]
    try:
        found.append(_history(other, tmp_path / "b"))
    finally:
        other.close()
        databases.drop(name)  # type: ignore[attr-defined]
    assert found[0] == found[1]


def _history(database: Database, home: Path) -> list[object]:
    home.mkdir()
    library = Library(database, home, novelty=POLICY, citations=CitationsPolicy())
    library.fund_pool(100_000_000)
    ada, ben = library.writer(), library.reader()
    made = [library.promote(ada, words=text("clocks")), library.promote(ben, words=text("trees"))]
    library.later(40 * DAY_S)
    with library.tx() as tx:
        last = tx.row("select seq, encode(hash, 'hex') from ledger_head")
    return [*(replace(score(library, item), publication=made[0].id) for item in made), last]
