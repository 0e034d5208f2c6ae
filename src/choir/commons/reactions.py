"""What follows when something happens to an article: rewards, citations, vesting and the search index.

Guarantees: each reaction is a transaction of its own that the events of an article reach in order, at least once, with
one effect. What is done follows from the state that is found then, so that an old event does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from choir.commons import events
from choir.commons.articles.model import article_id, parse_article_id
from choir.commons.challenges import store as challenge_store
from choir.commons.citations import store as citation_store
from choir.commons.composition import Commons
from choir.commons.publication import store as publication_store
from choir.commons.publication.model import Publication, PublicationState, parse_publication_id, publication_id
from choir.commons.stakes.service import SOURCE
from choir.feature import Base, EventHandler
from choir.storage.database import Tx
from choir.storage.outbox import Event
from choir.treasury import events as treasury_events
from choir.treasury.vesting.model import GrantKind
from choir.treasury.vesting.service import Vesting

_FALLEN = (events.RETRACTED, events.DEMOTED)
_FELL = (PublicationState.RETRACTED, PublicationState.DEMOTED)


def _reward(base: Base, tx: Tx, event: Event) -> None:
    """Novelty: granted at promotion, taken back as far as it has not vested when the version falls."""
    commons, publication = base.of(Commons), _publication(tx, event)
    if event.type == events.PROMOTED:
        commons.novelty.grant(tx, publication)
    else:
        commons.novelty.take_back(tx, publication, "the article fell")


def _cite(base: Base, tx: Tx, event: Event) -> None:
    """Citations: settled at promotion, taken back when one of the two is retracted for cause."""
    commons, publication = base.of(Commons), _publication(tx, event)
    if event.type == events.PROMOTED:
        commons.citations.settle(tx, publication)
    elif event.type == events.RETRACTED and not event.data.get("own_wish"):
        commons.citations.take_back(tx, [publication.id])


def _speed(base: Base, tx: Tx, event: Event) -> None:
    """Independent reuse lets what an article earned vest sooner."""
    article = parse_article_id(event.subject)
    base.of(Commons).novelty.speed(tx, article, citation_store.independent(tx, article))


def _index(base: Base, tx: Tx, event: Event) -> None:
    commons, article = base.of(Commons), parse_article_id(event.subject)
    commons.articles.lock(tx, article)
    commons.search.refresh(tx, article)
    base.outbox.announce(tx, events.INDEXED, subject=event.subject, actor=SOURCE, data={"article": event.subject})


def _freeze(base: Base, tx: Tx, event: Event) -> None:
    """An open challenge freezes what an article's authors have not vested; the last decision lets it go on.

    What a lost challenge takes is taken before: else it would be released for the time of the challenge.
    """
    commons, article = base.of(Commons), parse_article_id(event.data["article"])
    commons.articles.lock(tx, article)
    vesting, versions = base.of(Vesting), publication_store.versions(tx, article)
    challenged = challenge_store.is_challenged(tx, article)
    if not challenged:
        _take_from_fallen(commons, tx, article, versions)
    act = vesting.freeze if challenged else vesting.unfreeze
    for subject in (article_id(article), *(publication_id(item.id) for item in versions)):
        act(tx, subject)


def _take_from_fallen(commons: Commons, tx: Tx, article: UUID, versions: Sequence[Publication]) -> None:
    """Also from a version that its authors had retracted before the challenge was won."""
    lost = challenge_store.versions_that_lost(tx, article)
    fallen = [item for item in versions if item.state in _FELL and item.id in lost]
    for item in fallen:
        commons.novelty.take_back(tx, item, "the article lost a challenge")
    commons.citations.take_back(tx, [item.id for item in fallen if item.state is PublicationState.RETRACTED])


def _bonus(base: Base, tx: Tx, event: Event) -> None:
    data: dict[str, Any] = event.data
    if data["kind"] == GrantKind.CITATION:
        base.of(Commons).citations.add_bonus(tx, data["owner"], int(data["amount"]), event.at_us)


def _publication(tx: Tx, event: Event) -> Publication:
    found = publication_store.get(tx, parse_publication_id(event.data["publication"]))
    assert found is not None, "publications are never deleted"
    return found


SUBSCRIBERS = (
    EventHandler("reward", (events.PROMOTED, *_FALLEN), _reward),
    EventHandler("cite", (events.PROMOTED, *_FALLEN), _cite),
    EventHandler("speed", (events.CITED,), _speed),
    EventHandler("index", (events.PROMOTED, *_FALLEN), _index),
    EventHandler("freeze", (events.CHALLENGED, events.DECIDED), _freeze),
    EventHandler("bonus", (treasury_events.VESTED,), _bonus),
)
