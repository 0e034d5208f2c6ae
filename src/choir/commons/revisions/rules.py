"""What authors' votes come to, and where a revision's fee goes. Pure; amounts are units of CHIP."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from choir.commons.policy import CommonsPolicy
from choir.commons.revisions.model import RevisionState
from choir.commons.stakes.rules import split

_BPS = 10_000


def outcome(authors: Collection[str], votes: Mapping[str, bool], *, over: bool) -> RevisionState:
    """Accepted or refused by all, split as soon as two disagree, expired if the time is over."""
    cast = {votes[author] for author in authors if author in votes}
    if len(cast) > 1:
        return RevisionState.SPLIT
    if cast and all(author in votes for author in authors):
        return RevisionState.ACCEPTED if cast == {True} else RevisionState.REFUSED
    return RevisionState.EXPIRED if over else RevisionState.OPEN


def shares(
    state: RevisionState, fee: int, authors: Sequence[str], treasury: str, policy: CommonsPolicy
) -> dict[str, int]:
    """Who gets how much of the fee; what is left goes back to the proposer."""
    if state is RevisionState.ACCEPTED:
        return dict(zip(authors, split(fee, len(authors)), strict=True))
    if state in (RevisionState.REFUSED, RevisionState.EXPIRED):
        return {treasury: fee * policy.revision_kept_bps // _BPS}
    return {treasury: fee} if state is RevisionState.SPLIT else {}
