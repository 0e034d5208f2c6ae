"""The state machine of atoms: one table, which is the only way to change a state. Pure.

Guarantee: no way leads to `PROMOTED` but through a stake, an attestation of every binding, a window that is over and
no open challenge; nothing leaves `RETRACTED`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from choir.commons.atoms.model import Act, Actor, Condition, ConditionMissing, NoTransition, NotYourAct, State


@dataclass(frozen=True, slots=True)
class Step:
    """Where an act leads, who may do it, and what must be shown."""

    after: State
    needs: dict[Actor, frozenset[Condition]]  # by who may do it


def _step(after: State, **needs: Collection[Condition]) -> Step:
    return Step(after, {Actor(actor): frozenset(wanted) for actor, wanted in needs.items()})


_WON = (Condition.CHALLENGE_WON,)
_RETRACTION = _step(State.RETRACTED, referee=_WON, operator=_WON, maker=(Condition.OWN_WISH, Condition.UNCHALLENGED))
_DEMOTION = _step(State.QUARANTINED, referee=_WON, operator=_WON)

TABLE: dict[tuple[State, Act], Step] = {
    (State.UNTRUSTED, Act.OFFER): _step(State.QUARANTINED, maker=(Condition.CHECKED,)),
    (State.QUARANTINED, Act.STAKE): _step(State.PENDING, promoter=(Condition.CHECKED, Condition.STAKED)),
    (State.PENDING, Act.REFUSE): _step(State.QUARANTINED, referee=(Condition.REVIEW_FAILED,)),
    (State.PENDING, Act.WITHDRAW): _step(State.QUARANTINED, maker=(Condition.OWN_WISH, Condition.UNCHALLENGED)),
    (State.PENDING, Act.PROMOTE): _step(
        State.PROMOTED,
        clock=(Condition.STAKED, Condition.ATTESTED, Condition.WINDOW_OVER, Condition.UNCHALLENGED),
    ),
    (State.PENDING, Act.DEMOTE): _DEMOTION,
    (State.PROMOTED, Act.DEMOTE): _DEMOTION,
    (State.PENDING, Act.RETRACT): _RETRACTION,
    (State.PROMOTED, Act.RETRACT): _RETRACTION,
}


def step(state: State, act: Act, actor: Actor, shown: Collection[Condition]) -> State:
    """The state that follows, or a refusal that says what is missing."""
    found = TABLE.get((state, act))
    if found is None:
        raise NoTransition(state=state.value, act=act.value)
    if actor not in found.needs:
        raise NotYourAct(actor=actor.value, act=act.value, state=state.value)
    missing = found.needs[actor] - set(shown)
    if missing:
        raise ConditionMissing(act=act.value, state=state.value, missing=", ".join(sorted(missing)))
    return found.after
