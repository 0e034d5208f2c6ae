"""What a sentence rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from choir.foundation.canonical import ObjectHash


class Standing(StrEnum):
    """What a sentence rests on."""

    STANDS = "stands"  # on a promoted binding
    PENDING = "pending"  # on a binding that is not promoted, or not any more
    UNSUPPORTED = "unsupported"  # it makes a claim that nothing supports
    PLAIN = "plain"  # no claim is marked, and no promoted claim says the same


@dataclass(frozen=True, slots=True)
class SentenceStanding:
    """A sentence and what it stands on."""

    text: str
    standing: Standing
    words: str
    bindings: tuple[ObjectHash, ...] = ()
    claim: ObjectHash | None = None
