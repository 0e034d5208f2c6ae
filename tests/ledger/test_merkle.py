"""The Merkle tree against the public vectors, a naive tree, and every kind of damage."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.ledger.merkle import (
    EMPTY_ROOT,
    BadProof,
    Frontier,
    NoProof,
    consistency_proof,
    inclusion_proof,
    node_hash,
    subtree_hash,
    tree_root,
)
from tests.ledger.proofs import leaf_hash, verify_consistency, verify_inclusion

VECTORS = Path(__file__).parents[2].parent / "shared" / "vectors" / "merkle"
SIZES_MAX = 70
LEAVES = [leaf_hash(number.to_bytes(4, "big")) for number in range(SIZES_MAX)]

sizes = st.integers(1, SIZES_MAX)


def naive_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return node_hash(naive_root(leaves[:half]), naive_root(leaves[half:]))


def read(level: int, index: int) -> bytes:
    assert (index + 1) << level <= SIZES_MAX, "asked for a subtree that is not complete"
    return naive_root(LEAVES[index << level : (index + 1) << level])


ROOTS = [naive_root(LEAVES[:size]) for size in range(SIZES_MAX + 1)]


def vectors(kind: str) -> list[Any]:
    files = sorted((VECTORS / kind).rglob("*.json"))
    return [pytest.param(json.loads(file.read_text()), id=str(file.relative_to(VECTORS))) for file in files]


def decoded(vector: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(item) for item in vector["proof"] or []]


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the public vectors are not here")
@pytest.mark.parametrize("vector", vectors("inclusion"))
def test_public_inclusion_vectors(vector: dict[str, Any]) -> None:
    leaf, root = base64.b64decode(vector["leafHash"]), base64.b64decode(vector["root"])
    expect(
        vector["wantErr"],
        lambda: verify_inclusion(vector["leafIdx"], vector["treeSize"], leaf, decoded(vector), root),
    )


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the public vectors are not here")
@pytest.mark.parametrize("vector", vectors("consistency"))
def test_public_consistency_vectors(vector: dict[str, Any]) -> None:
    root1, root2 = base64.b64decode(vector["root1"]), base64.b64decode(vector["root2"])
    expect(
        vector["wantErr"],
        lambda: verify_consistency(vector["size1"], vector["size2"], root1, root2, decoded(vector)),
    )


def expect(refused: bool, check: Callable[[], None]) -> None:
    if refused:
        with pytest.raises(BadProof):
            check()
    else:
        check()


@given(st.lists(st.binary(max_size=40), max_size=200))
def test_the_frontier_has_the_root_of_the_naive_tree(data: list[bytes]) -> None:
    frontier = Frontier()
    leaves = [leaf_hash(item) for item in data]
    for leaf in leaves:
        frontier.append(leaf)
    assert (frontier.size, frontier.root()) == (len(data), naive_root(leaves))


def test_the_frontier_gives_out_every_complete_subtree_once() -> None:
    frontier = Frontier()
    stored: dict[tuple[int, int], bytes] = {}
    for leaf in LEAVES:
        for level, node in enumerate(frontier.append(leaf)):
            place = level, (frontier.size >> level) - 1
            assert place not in stored
            stored[place] = node
        assert tree_root(frontier.size, lambda level, index: stored[level, index]) == frontier.root()
    assert all(node == read(*place) for place, node in stored.items())


def test_every_inclusion_proof_verifies() -> None:
    for size in range(1, SIZES_MAX + 1):
        for index in range(size):
            verify_inclusion(index, size, LEAVES[index], inclusion_proof(index, size, read), ROOTS[size])


def test_every_consistency_proof_verifies() -> None:
    for size2 in range(1, SIZES_MAX + 1):
        for size1 in range(1, size2 + 1):
            verify_consistency(size1, size2, ROOTS[size1], ROOTS[size2], consistency_proof(size1, size2, read))


def flips(hashes: list[bytes], bit: int) -> Iterator[list[bytes]]:
    """The hashes with one bit changed in one of them, for each of them."""
    for place, item in enumerate(hashes):
        changed = bytearray(item)
        changed[bit // 8] ^= 1 << bit % 8
        yield [*hashes[:place], bytes(changed), *hashes[place + 1 :]]


def miscounts(proof: list[bytes]) -> Iterator[list[bytes]]:
    """The proof with a hash left out or put in."""
    for place in range(len(proof)):
        yield proof[:place] + proof[place + 1 :]
    for place in range(len(proof) + 1):
        yield [*proof[:place], LEAVES[0], *proof[place:]]


@given(sizes, st.data(), st.integers(0, 255))
def test_a_damaged_inclusion_proof_is_refused(size: int, data: st.DataObject, bit: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, read)
    for leaf, root, *path in flips([LEAVES[index], ROOTS[size], *proof], bit):
        with pytest.raises(BadProof):
            verify_inclusion(index, size, leaf, path, root)
    for path in miscounts(proof):
        with pytest.raises(BadProof):
            verify_inclusion(index, size, LEAVES[index], path, ROOTS[size])
    for other in (-1, size, *range(size)):
        if other != index:
            with pytest.raises(BadProof):
                verify_inclusion(other, size, LEAVES[index], proof, ROOTS[size])


@given(sizes, st.data(), st.integers(0, 255))
def test_a_damaged_consistency_proof_is_refused(size2: int, data: st.DataObject, bit: int) -> None:
    size1 = data.draw(st.integers(1, size2))
    proof = consistency_proof(size1, size2, read)
    for root1, root2, *path in flips([ROOTS[size1], ROOTS[size2], *proof], bit):
        with pytest.raises(BadProof):
            verify_consistency(size1, size2, root1, root2, path)
    for path in miscounts(proof):
        with pytest.raises(BadProof):
            verify_consistency(size1, size2, ROOTS[size1], ROOTS[size2], path)
    with pytest.raises(BadProof):
        verify_consistency(size2 + 1, size2, ROOTS[size1], ROOTS[size2], proof)


def turns(index: int, size: int) -> list[bool]:
    """Where the way from the root down to a leaf goes right: all that a proof says about a size."""
    way = []
    while size > 1:
        half = 1 << (size - 1).bit_length() - 1
        way.append(index >= half)
        index, size = (index - half, size - half) if index >= half else (index, half)
    return way


@given(sizes, st.integers(1, 2 * SIZES_MAX), st.data())
def test_a_wrong_size_is_refused_unless_the_way_to_the_leaf_is_the_same(
    size: int, claimed: int, data: st.DataObject
) -> None:
    """A proof cannot tell such sizes apart; the signed checkpoint does, by binding the size to the root."""
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, read)
    same = index < claimed and turns(index, claimed) == turns(index, size)
    expect(not same, lambda: verify_inclusion(index, claimed, LEAVES[index], proof, ROOTS[size]))


@given(sizes, sizes, sizes)
def test_another_tree_size_with_its_own_root_is_refused(one: int, two: int, other: int) -> None:
    size1, size2 = sorted((one, two))
    proof = consistency_proof(size1, size2, read)
    if other != size1:
        with pytest.raises(BadProof):
            verify_consistency(other, size2, ROOTS[other], ROOTS[size2], proof)
    if other != size2:
        with pytest.raises(BadProof):
            verify_consistency(size1, other, ROOTS[size1], ROOTS[other], proof)


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 2), (1, 3), (2, 5), (-2, 0), (4, 9)])
def test_leaves_that_are_no_subtree_have_no_hash(start: int, end: int) -> None:
    with pytest.raises(NoProof):
        subtree_hash(start, end, read)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 70), (4, 7), (64, 70), (8, 16), (6, 7)])
def test_a_subtree_hash_is_the_naive_root_of_its_leaves(start: int, end: int) -> None:
    assert subtree_hash(start, end, read) == naive_root(LEAVES[start:end])


def test_questions_without_an_answer_are_refused() -> None:
    for index, size in [(0, 0), (1, 1), (-1, 3)]:
        with pytest.raises(NoProof):
            inclusion_proof(index, size, read)
    for size1, size2 in [(0, 1), (2, 1), (-1, 1)]:
        with pytest.raises(NoProof):
            consistency_proof(size1, size2, read)
    assert tree_root(0, read) == EMPTY_ROOT


def test_the_error_says_what_does_not_fit() -> None:
    with pytest.raises(BadProof, match="fewer than leaf 2 of 5 needs") as caught:
        verify_inclusion(2, 5, LEAVES[2], [], ROOTS[5])
    assert caught.value.code == "ledger.proof.bad"
    with pytest.raises(BadProof, match="it leads to the root"):
        verify_inclusion(0, 1, LEAVES[0], [], ROOTS[2])
