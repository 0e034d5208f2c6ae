"""What a stake is: holds on the ledger, one for each place that the CHIP came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import Refusal
from choir.foundation.ids import show_id


class Origin(StrEnum):
    """Where a part of a stake came from, and goes back to."""

    STARTER = "starter"
    OWN = "own"
    TREASURY = "treasury"


class Purpose(StrEnum):
    """What a stake is for."""

    ARTICLE = "article"
    CHALLENGE = "challenge"
    REVISION = "revision"


class StakeState(StrEnum):
    """What became of a stake."""

    HELD = "held"
    RETURNED = "returned"
    SLASHED = "slashed"


@dataclass(frozen=True, slots=True)
class StakePart:
    """A hold. Amounts are units of CHIP."""

    origin: Origin
    hold: UUID
    amount: int


@dataclass(frozen=True, slots=True)
class Stake:
    """What somebody has at risk."""

    id: UUID
    owner: str
    purpose: Purpose
    state: StakeState
    amount: int
    placed_us: int
    ended_us: int | None
    parts: tuple[StakePart, ...]

    def of(self, origin: Origin) -> int:
        """How much came from one place."""
        return sum(part.amount for part in self.parts if part.origin is origin)


def stake_id(value: UUID) -> str:
    return show_id("stake", value)


class TooLittleChip(Refusal):
    code = "commons.too_little_chip"
    sentence = "This needs {needed_shown} CHIP; you have {own_shown} of your own and {starter_shown} starter CHIP."
    hint = "CHIP is earned by novelty. The treasury co-stakes a first article: bring {newcomer_shown} CHIP for it."


class HoldOfStake(Refusal):
    code = "commons.hold_of_stake"
    sentence = "The hold {hold} is part of the stake {stake}, which is still needed."
    hint = "It ends with what it was staked for."
