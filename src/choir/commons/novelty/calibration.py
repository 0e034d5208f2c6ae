"""What raw distances of an embedder mean: a monotone map to the scale that scores are read on.

Embedders spread texts differently: for one, unrelated texts are 0.6 apart, for another 0.9. The maps below were fitted
by `tools/fit_novelty.py` on the fitted half of the packages named with them, so that honest new work scores about 75
while the space is empty and about 35 when 500 articles of nine subjects fill it, and paraphrases stay below 20. They
belong to the embedder's name, which holds its version: new vectors need a new map.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from hashlib import sha256
from itertools import pairwise

Knots = tuple[tuple[int, int], ...]
_PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """Maps of an embedder: of distances, and of how far a text is from keeping to a thread (see `lexical.thread`)."""

    distance: Knots
    thread: Knots  # empty: not fitted, so not looked at
    fitted_on: tuple[str, ...]


STATIC = Calibration(
    distance=(
        (0, 0),
        (100_000, 100_000),
        (190_000, 190_000),
        (280_000, 300_000),
        (430_000, 310_000),
        (500_000, 445_000),
        (550_000, 516_667),
        (600_000, 531_667),
        (700_000, 533_334),
        (850_000, 535_000),
        (1_100_000, 550_000),
    ),
    thread=((1_100, _PPM), (1_101, 550_000), (1_140, 190_000), (1_180, 0)),
    fitted_on=(
        "anarchism 15.3-3",
        "apache2-doc 2.4.71-1~deb12u1",
        "git-doc 1:2.39.5-0+deb12u3",
        "postgresql-doc-15 15.20-0+deb12u1",
        "python-django-doc 3:3.2.25-0+deb12u7",
        "python-sklearn-doc 1.2.1+dfsg-1",
        "python3.11-doc 3.11.2-6+deb12u9",
        "rust-doc 1.63.0+dfsg1-2",
        "sqlite3-doc 3.40.1-2+deb12u2",
    ),
)
UNFITTED = Calibration(distance=((0, 0), (_PPM, _PPM)), thread=(), fitted_on=())
_BY_NAME = {"wordllama-l2-supercat-256/0.4.0.post1+choir.1": STATIC}


def calibration_of(embedder: str) -> Calibration:
    """The embedder's own; distances of one that nobody fitted are taken as they are."""
    return _BY_NAME.get(embedder, UNFITTED)


def calibration_name(embedder: str) -> str:
    """What is recorded on a score: which map it was measured with."""
    found = calibration_of(embedder)
    return f"{embedder}:{sha256(repr(astuple(found)).encode()).hexdigest()[:12]}"


def calibrated(raw: int, calibration: Calibration) -> int:
    """A raw distance on the common scale, from 0 to 1 in millionths."""
    return max(0, min(_PPM, interpolated(raw, calibration.distance)))


def interpolated(value: int, knots: Knots) -> int:
    """The map's value, rounded down; before its first and after its last knot it stays as there."""
    if value <= knots[0][0]:
        return knots[0][1]
    for (left, low), (right, high) in pairwise(knots):
        if value <= right:
            return low + (high - low) * (value - left) // (right - left)
    return knots[-1][1]
