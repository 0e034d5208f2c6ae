"""Who wins a challenge, by what the verifiers say or by what operators rule. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from choir.commons.atoms.model import Atom, State
from choir.commons.atoms.rules import folded
from choir.commons.challenges.model import GROUNDS, BadGround, ChallengeRuling, Ground, NotChallengeable
from choir.commons.policy import CommonsPolicy
from choir.commons.verifiers.model import CheckFinding, Outcome
from choir.foundation.canonical import canonical_hash

_CHALLENGEABLE = frozenset({State.PENDING, State.PROMOTED})


def check(atom: Atom, ground: Ground, pointers: Sequence[object], policy: CommonsPolicy) -> None:
    """Raise unless this atom can be challenged so."""
    rule = GROUNDS[ground]
    if atom.state not in _CHALLENGEABLE:
        raise NotChallengeable(atom=atom.hash, why=f"it is {atom.state.value}")
    if atom.kind not in rule.kinds:
        wanted = " or ".join(sorted(rule.kinds))
        raise BadGround(ground=ground.value, why=f"it is raised against a {wanted}, not a {atom.kind.value}")
    if len(pointers) < rule.pointers_min:
        raise BadGround(ground=ground.value, why="it needs a pointer to counter-evidence (--evidence)")
    if len(pointers) > policy.pointers_max:
        raise BadGround(ground=ground.value, why=f"at most {policy.pointers_max} pointers are taken")


def basis_of(ground: Ground, statement: str, pointers: Sequence[str]) -> str:
    """What nobody is heard on twice: of a ground that checks decide, the ground itself; else what it is argued with.

    Otherwise a friend of the author could lose a challenge on each ground, and nobody else would be heard any more.
    """
    if GROUNDS[ground].checks - {"copied"}:
        return ""
    return canonical_hash(sorted(set(pointers)) or folded(statement))


def by_findings(ground: Ground, findings: Collection[CheckFinding]) -> bool | None:
    """Whether the challenger is right, by the checks that decide this ground; None: they cannot say."""
    outcomes = {item.outcome for item in findings if item.check in GROUNDS[ground].checks}
    if Outcome.FAIL in outcomes:
        return True
    return False if outcomes == {Outcome.PASS} else None


def by_rulings(rulings: Sequence[ChallengeRuling], needed: int) -> bool | None:
    """Whether the challenger is right, when so many operators agree."""
    for upheld in (True, False):
        if sum(ruling.upheld is upheld for ruling in rulings) >= needed:
            return upheld
    return None
