"""The commons, as a part of a node: its services, and what a node does for them."""

from __future__ import annotations

from collections.abc import Iterable

from choir.commons import events
from choir.commons.atoms.service import FLAG
from choir.commons.challenges.service import JUDGE
from choir.commons.composition import Commons, assemble
from choir.commons.explanation import EXPLAINS
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.service import REVIEW
from choir.commons.reactions import SUBSCRIBERS
from choir.commons.rounds import CommonsRounds
from choir.feature import BackgroundWork, Base, Feature, RepeatingTask, Stopping


def _build(base: Base) -> Iterable[object]:
    return (assemble(base),)


def _work(base: Base, _: Stopping) -> BackgroundWork:
    rounds, policy = CommonsRounds(base), base.policy.of(CommonsPolicy)
    return BackgroundWork(
        every=(
            RepeatingTask("commons.rounds", policy.look_every_s, slow=rounds.go_on),
            RepeatingTask("commons.embed", policy.look_every_s, slow=rounds.embed),
            RepeatingTask("commons.emission", policy.look_every_s, slow=rounds.settle_months),
        ),
        slow={REVIEW: rounds.review, JUDGE: rounds.judge, FLAG: rounds.flag},
    )


FEATURE = Feature(
    name="commons",
    needs=("ledger", "objects", "identity", "treasury"),
    build=_build,
    close=lambda base: base.of(Commons).reader.close(),
    work=_work,
    events=events.ALL,
    subscribers=SUBSCRIBERS,
    forget=lambda base, tx, owner: base.of(Commons).forget(tx, owner),
    guard_hold=lambda _, tx, hold: Commons.check_not_ours(tx, hold),
    explains=EXPLAINS,
)
