"""Shapes about challenges."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from choir.commons.articles.model import article_id
from choir.commons.atoms.model import Atom
from choir.commons.challenges.model import Challenge, ChallengeRuling, Ground, challenge_id
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_AT = "2026-01-02T03:04:05.000000Z"
_CHALLENGE: dict[str, Any] = {
    "id": "challenge_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "article": "article_01j9zq5a1wf6vsy1m3n4c5d6e7",
    "atom": _HASH,
    "kind": "BINDING",
    "ground": "number",
    "statement": "The source says 12, not 21.",
    "evidence": [],
    "challenger": "person:01j9zq5a1wf6vsy1m3n4c5d6e7",
    "state": "open",
    "findings": [],
    "reasoning": None,
    "rulings": [],
    "opened_at": _AT,
    "decided_at": None,
}
GroundText = Literal[
    "hash", "span", "number", "name", "negation", "copied", "fallen", "contradicted", "misleading", "other"
]


class ChallengeIn(
    Wire,
    json_schema_extra=example(atom=_HASH, ground="number", statement="The source says 12, not 21.", evidence=[]),
):
    """What is wrong with an atom."""

    atom: str = Field(min_length=71, max_length=71)
    ground: GroundText
    statement: str = Field(min_length=1, max_length=100_000)
    evidence: list[str] = Field(default_factory=list, max_length=1_000, description="Pointers to counter-evidence.")


class RulingOut(Wire, json_schema_extra=example(operator="operator", upheld=True, reasoning="…")):
    """What an operator decided."""

    operator: str
    upheld: bool
    reasoning: str

    @classmethod
    def of(cls, item: ChallengeRuling) -> RulingOut:
        return cls(operator=item.operator, upheld=item.upheld, reasoning=item.reasoning)


class ChallengeOut(Wire, json_schema_extra=example(**_CHALLENGE)):
    """A challenge."""

    id: str
    article: str
    atom: str
    kind: str
    ground: str
    statement: str
    evidence: list[str]
    challenger: str
    state: str
    findings: list[dict[str, Any]] = Field(description="What the verifiers said of it.")
    reasoning: str | None = None
    rulings: list[RulingOut]
    opened_at: str
    decided_at: str | None = None

    @classmethod
    def of(cls, item: Challenge, atom: Atom, article: Any, rulings: list[ChallengeRuling]) -> ChallengeOut:
        return cls(
            id=challenge_id(item.id),
            article=article_id(article),
            atom=atom.hash,
            kind=atom.kind.value,
            ground=item.ground.value,
            statement=item.statement,
            evidence=list(item.pointers),
            challenger=item.challenger,
            state=item.state.value,
            findings=(item.finding or {}).get("findings", []),
            reasoning=item.reasoning,
            rulings=[RulingOut.of(each) for each in rulings],
            opened_at=format_time(item.opened_us),
            decided_at=maybe_time(item.decided_us),
        )


class ChallengePage(Wire, json_schema_extra=example(items=[_CHALLENGE], next=None)):
    items: list[ChallengeOut]
    next: str | None = None


class ChallengeRulingIn(Wire, json_schema_extra=example(upheld=True, reasoning="The source says otherwise.")):
    """An operator's ruling."""

    upheld: bool
    reasoning: str = Field(min_length=1, max_length=10_000)


def ground_of(text: GroundText) -> Ground:
    return Ground(text)
