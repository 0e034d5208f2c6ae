"""The state table, exhaustively: every state × every act × every actor × what can be shown."""

from __future__ import annotations

import itertools

import pytest

from choir.commons.atoms.model import Act, Actor, Condition, ConditionMissing, NoTransition, NotYourAct, State
from choir.commons.atoms.states import TABLE, step

# Written out once more by hand, from the specification: (state, act, actor) → (state after, what must be shown).
_WON = frozenset({Condition.CHALLENGE_WON})
_WISH = frozenset({Condition.OWN_WISH, Condition.UNCHALLENGED})
_ALL_FOR_PROMOTION = frozenset({Condition.STAKED, Condition.ATTESTED, Condition.WINDOW_OVER, Condition.UNCHALLENGED})
ALLOWED: dict[tuple[State, Act, Actor], tuple[State, frozenset[Condition]]] = {
    (State.UNTRUSTED, Act.OFFER, Actor.MAKER): (State.QUARANTINED, frozenset({Condition.CHECKED})),
    (State.QUARANTINED, Act.STAKE, Actor.PROMOTER): (
        State.PENDING,
        frozenset({Condition.CHECKED, Condition.STAKED}),
    ),
    (State.PENDING, Act.REFUSE, Actor.REFEREE): (State.QUARANTINED, frozenset({Condition.REVIEW_FAILED})),
    (State.PENDING, Act.WITHDRAW, Actor.MAKER): (State.QUARANTINED, _WISH),
    (State.PENDING, Act.PROMOTE, Actor.CLOCK): (State.PROMOTED, _ALL_FOR_PROMOTION),
    **{
        (state, act, actor): (after, _WON)
        for state in (State.PENDING, State.PROMOTED)
        for act, after in ((Act.DEMOTE, State.QUARANTINED), (Act.RETRACT, State.RETRACTED))
        for actor in (Actor.REFEREE, Actor.OPERATOR)
    },
    (State.PENDING, Act.RETRACT, Actor.MAKER): (State.RETRACTED, _WISH),
    (State.PROMOTED, Act.RETRACT, Actor.MAKER): (State.RETRACTED, _WISH),
}


@pytest.mark.parametrize(("state", "act", "actor"), list(itertools.product(State, Act, Actor)))
def test_every_state_act_and_actor(state: State, act: Act, actor: Actor) -> None:
    wanted = ALLOWED.get((state, act, actor))
    if wanted is None:
        with pytest.raises((NoTransition, NotYourAct)):
            step(state, act, actor, set(Condition))
        return
    after, needs = wanted
    assert step(state, act, actor, set(Condition)) is after
    for size in range(len(Condition) + 1):
        for shown in itertools.combinations(Condition, size):
            if needs <= set(shown):
                assert step(state, act, actor, shown) is after
            else:
                with pytest.raises(ConditionMissing):
                    step(state, act, actor, shown)


def test_no_way_to_promoted_avoids_stake_attestation_or_window() -> None:
    """Every path over the table that ends in PROMOTED passes a stake, and its last step shows all of them."""
    into = [(key, found) for key, found in TABLE.items() if found.after is State.PROMOTED]
    assert [key for key, _ in into] == [(State.PENDING, Act.PROMOTE)]
    [(_, promote)] = into
    assert promote.needs == {Actor.CLOCK: _ALL_FOR_PROMOTION}
    into_pending = [(key, found) for key, found in TABLE.items() if found.after is State.PENDING]
    assert [key for key, _ in into_pending] == [(State.QUARANTINED, Act.STAKE)]
    assert all(Condition.STAKED in needs for needs in into_pending[0][1].needs.values())


def test_nothing_leaves_retracted() -> None:
    assert not [key for key in TABLE if key[0] is State.RETRACTED]
