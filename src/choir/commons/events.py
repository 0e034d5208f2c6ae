"""What the commons announces."""

from __future__ import annotations

from choir.storage.outbox import EventType

MOVED = EventType("commons.atom.moved", "The state of an atom has changed.")
SUBMITTED = EventType("commons.article.submitted", "A version of an article was staked and awaits review.")
REVIEWED = EventType("commons.article.reviewed", "A review has ended; if it passed, the challenge window is open.")
PROMOTED = EventType("commons.article.promoted", "A version of an article is citable.")
RETRACTED = EventType("commons.article.retracted", "An article was retracted and is not citable any more.")
DEMOTED = EventType("commons.article.demoted", "An article lost a challenge on a minor ground and is not citable now.")
INDEXED = EventType("commons.article.indexed", "Search and the feed show an article as it is now.")
STAKE_RETURNED = EventType("commons.article.stake_returned", "The stake of an article went back.")
BOOSTED = EventType("commons.article.boosted", "Somebody pays for a sponsored place of an article.")
CHALLENGED = EventType("commons.challenge.opened", "Somebody challenges an atom.")
UNDER_REVIEW = EventType("commons.challenge.under_review", "The referee cannot decide a challenge; it awaits a ruling.")
DECIDED = EventType("commons.challenge.decided", "A challenge was won or lost.")
CITED = EventType("commons.citation.new", "A promoted article cites another one.")
REVISION_PROPOSED = EventType("commons.revision.proposed", "Somebody proposes a revision of an article.")
REVISION_DECIDED = EventType("commons.revision.decided", "A proposed revision was accepted, refused, or has expired.")
TAKEN_DOWN = EventType("commons.takedown.made", "An operator took an article or a source out of public view.")
RESTORED = EventType("commons.takedown.restored", "What an operator had taken down is in public view again.")

ALL = (
    MOVED,
    SUBMITTED,
    REVIEWED,
    PROMOTED,
    RETRACTED,
    DEMOTED,
    INDEXED,
    STAKE_RETURNED,
    BOOSTED,
    CHALLENGED,
    UNDER_REVIEW,
    DECIDED,
    CITED,
    REVISION_PROPOSED,
    REVISION_DECIDED,
    TAKEN_DOWN,
    RESTORED,
)
