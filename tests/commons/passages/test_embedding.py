"""Vectors and distances are exact: the same on every machine, and right to the last millionth."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal, localcontext
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from choir.commons.passages.embedding import PPM, Vector, distance_ppm, scaled
from choir.commons.passages.static import StaticEmbedder
from tests.commons.novelty.attacks import TOPICS, written

VECTORS = st.lists(st.integers(-127, 127), min_size=4, max_size=4).map(tuple)
KNOWN = "62db00180c1f10697a4a6dffc7e7836b856a2f4b9b628baeedcd372190bea8e8"


@given(VECTORS, VECTORS)
def test_a_distance_is_exact(one: Vector, other: Vector) -> None:
    distance = distance_ppm(one, other)
    assert 0 <= distance <= 2 * PPM
    assert distance == distance_ppm(other, one)
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    if not lengths:
        assert distance == PPM
        return
    with localcontext() as context:
        context.prec = 60
        dot = Decimal(sum(a * b for a, b in zip(one, other, strict=True)))
        exact = (1 - dot / Decimal(lengths).sqrt()) * PPM
        assert distance <= exact + Decimal("1e-40")
        assert exact < distance + 1 + Decimal("1e-40")


def test_edges_of_distance() -> None:
    assert distance_ppm((1, 2, 3), (2, 4, 6)) == 0
    assert distance_ppm((1, 0), (0, 5)) == PPM
    assert distance_ppm((1, 2), (-2, -4)) == 2 * PPM
    assert distance_ppm((3, 4), (4, 3)) == 40_000


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_scaled_numbers_are_small(values: list[int]) -> None:
    found = scaled(values)
    assert max(map(abs, found)) == (127 if any(values) else 0)


def test_vectors_are_the_same_everywhere() -> None:
    """If this fails: the vectors changed. Give the embedder a new name and calibrate it (tools/fit_novelty.py)."""
    texts = [written(topic, variant) for topic in TOPICS for variant in ("original", "fresh")]
    assert sha256(repr(StaticEmbedder().embed([*texts, "", "水 και"])).encode()).hexdigest() == KNOWN


def test_case_and_punctuation_change_nothing() -> None:
    one, other = StaticEmbedder().embed(["Rain fell on Ghent, again.", "RAIN — fell\u200b on GHENT again"])
    assert one == other


def test_a_text_without_words_has_no_direction() -> None:
    embedder = StaticEmbedder()
    assert embedder.embed([""]) == [(0,) * embedder.dims]


def test_nothing_heavy_is_loaded_before_its_use() -> None:
    code = (
        "import sys, choir.commons.passages.static as s; s.StaticEmbedder();"
        "assert not {'numpy', 'tokenizers', 'wordllama'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
