"""Revisions and boosts: fees, votes, and what becomes of the text."""

from __future__ import annotations

import pytest

from choir.commons.publication.model import NotYoursToRetract, Publication, PublicationState
from choir.commons.revisions.model import (
    NotBoostable,
    OwnRevision,
    Revision,
    RevisionOpen,
    RevisionOver,
    RevisionStale,
    RevisionState,
    UnknownRevision,
)
from choir.identity.model import Principal
from choir.ledger.model import InsufficientFunds
from tests.commons.desk import CHIP, DAY_S, Desk, chip

GENESIS = 5_000_000 * CHIP


def propose(
    desk: Desk, who: Principal, publication: Publication, more: str = "Newer.", key: str | None = None
) -> Revision:
    with desk.tx() as tx:
        text = desk.commons.reading.content(tx, who, publication.article, None)[1].text
    read = desk.commons.articles.read(f"{text}\n{more}\n", None, None)
    revisions = desk.commons.revisions
    return desk.write(lambda tx: revisions.propose(tx, who, publication.article, read, "newer", key))[0]


def vote(desk: Desk, who: Principal, revision: Revision, *, accepts: bool) -> Revision:
    return desk.write(lambda tx: desk.commons.revisions.vote(tx, who, revision.id, accepts=accepts))


def test_an_accepted_revision_makes_its_proposer_an_author(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=150)
    publication = desk.promoted(ada)
    revision = propose(desk, bob, publication)
    assert desk.own(bob) == chip(100)
    assert vote(desk, ada, revision, accepts=True).state is RevisionState.ACCEPTED
    assert desk.own(ada) == chip(50)
    assert desk.held() == chip(90)
    with desk.tx() as tx:
        assert desk.commons.articles.authors(tx, publication.article) == [ada.source, bob.source]
        article = desk.commons.articles.get(tx, bob, publication.article)
        assert desk.commons.articles.draft(tx, bob, article.id).text.endswith("Newer.\n")
    second = desk.review(desk.submit(bob, article, key="by a co-author"))
    desk.later(8 * DAY_S)
    assert desk.publication(second.id).version == 2
    with pytest.raises(RevisionOver):
        vote(desk, ada, revision, accepts=True)


@pytest.mark.parametrize("answer", [False, None])
def test_a_refused_or_unanswered_revision_comes_back_less_a_tenth(desk: Desk, answer: bool | None) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=50)
    revision = propose(desk, bob, desk.promoted(ada))
    if answer is None:
        desk.later(7 * DAY_S)
    else:
        vote(desk, ada, revision, accepts=answer)
    assert desk.own(bob) == chip(45)
    assert desk.treasury()[0] == GENESIS + chip(5)


def test_a_split_vote_goes_to_the_treasury(desk: Desk) -> None:
    ada, bob, cleo = desk.person(chip=100), desk.person(chip=50), desk.person(chip=50)
    publication = desk.promoted(ada)
    vote(desk, ada, propose(desk, bob, publication), accepts=True)
    revision = propose(desk, cleo, publication, "Other words.")
    assert vote(desk, ada, revision, accepts=True).state is RevisionState.OPEN
    assert vote(desk, ada, revision, accepts=False).state is RevisionState.OPEN  # the first vote stands
    assert vote(desk, bob, revision, accepts=False).state is RevisionState.SPLIT
    assert desk.own(cleo) == 0
    assert desk.treasury()[0] == GENESIS + chip(50)


def test_who_may_propose_and_vote(desk: Desk) -> None:
    ada, bob, cleo = desk.person(chip=100), desk.person(chip=200), desk.person()
    publication = desk.promoted(ada)
    with pytest.raises(OwnRevision):
        propose(desk, ada, publication)
    revision = propose(desk, bob, publication, key="k")
    assert propose(desk, bob, publication, key="k").id == revision.id
    assert desk.own(bob) == chip(150)
    with pytest.raises(RevisionOpen):
        propose(desk, bob, publication, "Others.")
    with pytest.raises(UnknownRevision):
        vote(desk, cleo, revision, accepts=True)


def test_a_boost_is_paid_once_and_changes_nothing_else(desk: Desk) -> None:
    ada, bob = desk.person(chip=100), desk.person(chip=60, starter=50)
    publication = desk.published(ada)
    revisions = desk.commons.revisions
    with pytest.raises(NotBoostable):
        desk.write(lambda tx: revisions.boost(tx, bob, publication.article, "b"))
    desk.later(8 * DAY_S)
    first, new = desk.write(lambda tx: revisions.boost(tx, bob, publication.article, "b"))
    assert new
    assert desk.write(lambda tx: revisions.boost(tx, bob, publication.article, "b")) == (first, False)
    assert desk.own(bob) == chip(35)
    second, _ = desk.write(lambda tx: revisions.boost(tx, bob, publication.article, "b2"))
    assert second.from_us == first.until_us
    with pytest.raises(InsufficientFunds):  # starter CHIP buys no place
        desk.write(lambda tx: revisions.boost(tx, bob, publication.article, "b3"))
    assert desk.starter(bob) == chip(50)
    with desk.tx() as tx:
        assert [item[0] for item in revisions.boosted(tx, 10)] == [publication.article]
    desk.later(15 * DAY_S)
    with desk.tx() as tx:
        assert revisions.boosted(tx, 10) == []


def test_a_revision_of_an_older_draft_cannot_be_accepted(desk: Desk) -> None:
    """Else accepting a second proposal would drop what the first one brought."""
    ada, bob, cleo = desk.person(chip=100), desk.person(chip=50), desk.person(chip=50)
    publication = desk.promoted(ada)
    first, second = propose(desk, bob, publication), propose(desk, cleo, publication, "Other words.")
    vote(desk, ada, first, accepts=True)
    with pytest.raises(RevisionStale, match=r"made from draft 1, and the article is at draft 2 now"):
        vote(desk, ada, second, accepts=True)
    vote(desk, ada, second, accepts=False)
    assert vote(desk, bob, second, accepts=False).state is RevisionState.REFUSED
    with desk.tx() as tx:
        assert desk.commons.articles.draft(tx, ada, publication.article).text.endswith("Newer.\n")


def test_a_co_author_cannot_take_back_what_others_rest_on(desk: Desk) -> None:
    ada, bob = desk.person(chip=300), desk.person(chip=300)
    publication = desk.promoted(ada)
    vote(desk, ada, propose(desk, bob, publication), accepts=True)
    with desk.tx() as tx:
        article = desk.commons.articles.get(tx, bob, publication.article)

    def retract(who: Principal) -> Publication:
        return desk.write(lambda tx: desk.commons.publications.retract(tx, who, article.id, "no more"))

    with pytest.raises(NotYoursToRetract):
        retract(bob)
    desk.review(desk.submit(bob, article, key="bob's"))
    assert retract(bob).state is PublicationState.RETRACTED  # his own, which nobody rests on yet
    with desk.tx() as tx:
        read = desk.commons.articles.read(
            f"{desk.commons.articles.draft(tx, ada, article.id).text}\nMore.\n", None, None
        )
    desk.write(lambda tx: desk.commons.articles.save(tx, ada, article.id, read))
    third = desk.review(desk.submit(ada, article, key="ada's"))
    with pytest.raises(NotYoursToRetract):
        retract(bob)
    desk.later(8 * DAY_S)
    with pytest.raises(NotYoursToRetract):
        retract(bob)
    assert retract(ada).id == third.id
