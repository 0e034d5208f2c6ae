"""What an embedder is, and how far two vectors are apart. Pure.

Guarantees: vectors are whole numbers of at most 127 either way, which half-precision floats hold exactly, so a database
that stores those gives back what it was given; the distance of two vectors is exact: it is decided by whole numbers of
any size and rounded once, at its end, so every machine has the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Protocol

Vector = tuple[int, ...]

MOST = 127
PPM = 1_000_000


class Embedder(Protocol):
    """Turns texts into vectors that lie near each other when the texts speak of the same."""

    @property
    def name(self) -> str:
        """Model and version: vectors of different names are never compared."""

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order. A text that says nothing to the model has only zeros."""


def distance_ppm(one: Vector, other: Vector) -> int:
    """1 − cosine in millionths, rounded down: 0 for the same direction, 2 000 000 for opposite ones.

    A vector of zeros has no direction: it is 1 away from all.
    """
    assert len(one) == len(other), "vectors of different models are not compared"
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    if not lengths:
        return PPM
    squared = (dot * PPM) ** 2
    if dot <= 0:
        return PPM + isqrt(squared // lengths)
    near = -(-squared // lengths)  # the least whole number that is no less, so that what is left is rounded down
    return PPM - (isqrt(near - 1) + 1)


def scaled(values: Sequence[int]) -> Vector:
    """The direction of whole numbers of any size, in numbers of at most 127: the largest becomes 127."""
    largest = max((abs(value) for value in values), default=0)
    if not largest:
        return tuple(0 for _ in values)
    return tuple((2 * value * MOST + largest) // (2 * largest) for value in values)
