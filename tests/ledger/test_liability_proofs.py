"""Proofs of liabilities without a database: who is owed is proven, and no way to cheat is left open."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Broken
from choir.ledger.liabilities import rules, tree
from choir.ledger.liabilities.model import Leaf, Owed, OwedProof, Share
from choir.ledger.liabilities.note import LiabilitiesMalformed, LiabilitiesNote
from choir.ledger.merkle import BadProof
from choir.ledger.notes import Checkpoint, CheckpointMalformed, KeyRotation, RotationMalformed
from tests.depth import times
from tests.ledger.grove import JOURNAL, Grove, people

amounts = st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=24)
secrets = st.binary(min_size=32, max_size=32)


def refused(proof: OwedProof, note: LiabilitiesNote) -> None:
    with pytest.raises(Broken):
        rules.check(proof, note)


@given(amounts, st.integers(0, 2**80), secrets)
def test_everybody_who_is_owed_something_is_proven(owed: list[int], held: int, secret: bytes) -> None:
    grove = Grove(people(*owed, held=held), secret)
    assert grove.total.total == sum(owed) + held * len(owed) < tree.SUM_END
    for each in grove.accounts:
        rules.check(grove.prove(each), grove.note)


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257, 511, 513, 600])
def test_every_size_of_tree(size: int) -> None:
    grove = Grove(people(*range(1, size + 1)))
    for each in grove.accounts[:: max(1, size // 40)] + grove.accounts[-1:]:
        rules.check(grove.prove(each), grove.note)


def test_more_than_one_level_of_tiles() -> None:
    """More than 65536 leaves; only the tree itself, whose leaves need not be anybody's."""
    size = 256 * 256 + 3
    leaves = [tree.node(n, hashlib.sha256(n.to_bytes(4)).digest()) for n in range(size)]
    kept = {(level, n): nodes for level, n, nodes in tree.tiles(b"".join(leaves))}
    root = tree.root_of(kept[tree.top_level(size), 0])
    assert tree.sum_of(root) == sum(range(size))
    for index in (0, 1, 255, 256, 65_535, 65_536, size - 1):
        beside = tree.path(index, size, lambda level, n: kept[level, n])
        assert tree.climb(index, size, leaves[index], beside) == root


@given(amounts, secrets)
def test_shares_add_up_and_leaves_are_in_another_order_in_each_tree(owed: list[int], secret: bytes) -> None:
    grove = Grove(people(*owed), secret)
    for each in grove.accounts:
        _, shares, salts = rules.split(secret, each)
        assert sum(shares) == each.amount
        assert min(shares) >= 0
        assert len(set(salts)) == rules.SHARES
    for share in range(rules.SHARES):
        assert sorted(grove.places(each)[share] for each in grove.accounts) == list(range(len(owed)))


def test_nothing_tells_from_the_place_in_one_tree_which_place_it_is_in_another() -> None:
    grove = Grove(people(*range(1, 201)))
    orders = [tuple(grove.places(each)[share] for each in grove.accounts) for share in range(rules.SHARES)]
    assert len(set(orders)) == rules.SHARES
    assert tuple(range(200)) not in orders
    other = Grove(people(*range(1, 201)), b"\x01" * 32)
    assert grove.total.root != other.total.root


# Any change is found


def _mutations(proof: OwedProof) -> st.SearchStrategy[OwedProof]:
    """Proofs that differ from a good one in one thing."""
    positions = st.integers(0, rules.SHARES - 1)

    def changed_share(share: int, new: Share) -> OwedProof:
        return replace(proof, shares=(*proof.shares[:share], new, *proof.shares[share + 1 :]))

    def leaf(share: int, **fields: object) -> OwedProof:
        old = proof.shares[share]
        return changed_share(share, replace(old, leaf=replace(old.leaf, **fields)))  # type: ignore[arg-type]

    @st.composite
    def bit(draw: st.DrawFn) -> OwedProof:
        share = draw(positions)
        beside = list(proof.shares[share].beside)
        which = draw(st.integers(0, len(beside) - 1))
        place = draw(st.integers(0, tree.NODE_BYTES * 8 - 1))
        flipped = int.from_bytes(beside[which]) ^ 1 << place
        beside[which] = flipped.to_bytes(tree.NODE_BYTES)
        return changed_share(share, replace(proof.shares[share], beside=tuple(beside)))

    @st.composite
    def without(draw: st.DrawFn) -> OwedProof:
        share = draw(positions)
        beside = list(proof.shares[share].beside)
        del beside[draw(st.integers(0, len(beside) - 1))]
        return changed_share(share, replace(proof.shares[share], beside=tuple(beside)))

    @st.composite
    def swapped(draw: st.DrawFn) -> OwedProof:
        one, other = draw(st.lists(positions, min_size=2, max_size=2, unique=True))
        shares = list(proof.shares)
        shares[one], shares[other] = shares[other], shares[one]
        return replace(proof, shares=tuple(shares))

    off = st.integers(-(2**64), 2**64).filter(bool)
    owed = proof.owed
    return st.one_of(
        bit(),
        without(),
        swapped(),
        st.builds(lambda by: replace(proof, owed=replace(owed, balance=owed.balance + by)), off),
        st.builds(lambda by: replace(proof, owed=replace(owed, held=owed.held + by)), off),
        st.builds(lambda by: replace(proof, owed=replace(owed, balance=owed.balance - by, held=owed.held + by)), off),
        st.just(replace(proof, owed=replace(owed, account="person:other/available/CREDIT"))),
        st.just(replace(proof, owed=replace(owed, account=owed.account.replace("CREDIT", "SAT")))),
        st.just(replace(proof, shares=proof.shares[:-1])),
        st.just(replace(proof, shares=(*proof.shares, proof.shares[-1]))),
        st.builds(lambda share, by: leaf(share, amount=proof.shares[share].leaf.amount + by), positions, off),
        st.builds(lambda share, by: leaf(share, index=proof.shares[share].leaf.index + by), positions, off),
        st.builds(
            lambda share, salt: leaf(share, salt=salt),
            positions,
            st.binary(max_size=20).filter(lambda salt: salt not in [each.leaf.salt for each in proof.shares]),
        ),
        st.builds(
            lambda share: changed_share(
                share, replace(proof.shares[share], beside=(*proof.shares[share].beside, bytes(tree.NODE_BYTES)))
            ),
            positions,
        ),
    )


GROVE = Grove(people(500, 1, 2**62, 77, 500, 500, 12_345, held=3))
GOOD = GROVE.prove(GROVE.accounts[0])


@settings(max_examples=times(100, 400))
@given(_mutations(GOOD))
def test_any_change_of_a_proof_is_found(changed: OwedProof) -> None:
    assert changed != GOOD
    rules.check(GOOD, GROVE.note)
    refused(changed, GROVE.note)


@pytest.mark.parametrize(
    "change",
    [{"total": GROVE.total.total - 1}, {"accounts": 13}, {"root": bytes(32)}, {"asset": "SAT"}],
)
def test_any_change_of_the_signed_totals_is_found(change: dict[str, object]) -> None:
    note = replace(GROVE.note, totals=(replace(GROVE.total, **change),))  # type: ignore[arg-type]
    for each in GROVE.accounts:
        refused(GROVE.prove(each), note)


# A node that cheats


def test_a_dropped_account_has_no_proof() -> None:
    """It can be given nobody else's, not even of who is owed the same."""
    victim, *others = people(500, 500, 700, 500)
    cheating = Grove(others)
    for other in others:
        proof = cheating.prove(other)
        rules.check(proof, cheating.note)
        refused(replace(proof, owed=victim), cheating.note)
        renamed = OwedProof(victim, tuple(
            replace(share, leaf=replace(share.leaf, salt=salt))
            for share, salt in zip(proof.shares, rules.split(cheating.secret, victim)[2], strict=True)
        ))  # fmt: skip
        refused(renamed, cheating.note)


@given(st.integers(1, 499))
def test_an_understated_account_has_no_proof_of_what_it_is_owed(less: int) -> None:
    victim, *others = people(500, 800, 700)
    understated = replace(victim, balance=victim.balance - less)
    cheating = Grove([understated, *others])
    proof = cheating.prove(understated)
    rules.check(proof, cheating.note)  # of less than is owed, which its owner sees
    refused(replace(proof, owed=victim), cheating.note)
    honest = Grove([victim, *others])
    refused(honest.prove(victim), cheating.note)
    for share in range(rules.SHARES):  # what is missing is added to one share, and taken from a sum beside it
        old = proof.shares[share]
        more = replace(old.leaf, amount=old.leaf.amount + less)
        smaller = tree.sum_of(old.beside[0]) - less
        if smaller >= 0:
            beside = (tree.node(smaller, tree.hash_of(old.beside[0])), *old.beside[1:])
            forged = (*proof.shares[:share], Share(more, beside), *proof.shares[share + 1 :])
            refused(OwedProof(victim, forged), cheating.note)


def _maxwell(left: tuple[int, bytes], right: tuple[int, bytes]) -> tuple[int, bytes]:
    """The first sum tree: the hash is over the total of both children."""
    total = left[0] + right[0]
    return total, hashlib.sha256(total.to_bytes(16) + left[1] + right[1]).digest()


def test_the_classic_way_to_hide_what_is_owed_does_not_work_here() -> None:
    """Two people are owed 100 and 60; the node wants to own up to 100, by telling each a fitting sum of the other."""
    a, b, claimed = 100, 60, 100
    hashes = hashlib.sha256(b"a").digest(), hashlib.sha256(b"b").digest()
    to_a = _maxwell((a, hashes[0]), (claimed - a, hashes[1]))
    to_b = _maxwell((claimed - b, hashes[0]), (b, hashes[1]))
    assert to_a == to_b == (claimed, to_a[1]), "in the first sum tree both are convinced"

    told_a = tree.node(a, hashes[0]), tree.node(claimed - a, hashes[1])
    told_b = tree.node(claimed - b, hashes[0]), tree.node(b, hashes[1])
    for published in (tree.join(*told_a), tree.join(*told_b)):
        assert tree.sum_of(published) == claimed
        convinced = [
            tree.climb(0, 2, told_a[0], [told_a[1]]) == published,
            tree.climb(1, 2, told_b[1], [told_b[0]]) == published,
        ]
        assert convinced.count(True) == 1


def test_the_classic_way_with_whole_proofs() -> None:
    """The same at the top of the tree, where it hides most: one root can satisfy one side only."""
    honest = Grove(people(100, 60))
    proofs = [honest.prove(each) for each in honest.accounts]
    roots = [honest.root(share) for share in range(rules.SHARES)]
    left, right = tree.join(*roots[:2]), tree.join(*roots[2:])
    less = min(tree.sum_of(left), tree.sum_of(right))
    hidden = tree.node(tree.sum_of(right) - less, tree.hash_of(right))
    root = tree.join(left, hidden)
    totals = replace(honest.total, total=tree.sum_of(root), root=tree.hash_of(root))
    for proof in proofs:
        forged = [
            Share(share.leaf, (*share.beside[:-1], hidden)) if n < 2 else share for n, share in enumerate(proof.shares)
        ]
        refused(OwedProof(proof.owed, tuple(forged)), LiabilitiesNote(JOURNAL, (totals,)))


@pytest.mark.parametrize("wrapping", [2**128 - 60, 2**127, 2**127 - 100])
def test_a_sum_beside_can_be_neither_negative_nor_so_large_that_it_wraps(wrapping: int) -> None:
    leaf = tree.node(100, bytes(32))
    with pytest.raises(tree.SumOutOfRange):
        tree.climb(0, 2, leaf, [wrapping.to_bytes(16) + bytes(32)])
    for amount in (-1, 2**127, 2**128 - 60):
        with pytest.raises(tree.SumOutOfRange):
            tree.node(amount, bytes(32))


def test_a_negative_share_is_refused() -> None:
    """Its owner would have to agree to it, but then it would lower what others are owed."""
    old = GOOD.shares
    negative = Leaf(-5, old[0].leaf.salt, old[0].leaf.index)
    higher = replace(old[1].leaf, amount=old[1].leaf.amount + old[0].leaf.amount + 5)
    proof = OwedProof(GOOD.owed, (replace(old[0], leaf=negative), replace(old[1], leaf=higher), *old[2:]))
    with pytest.raises(BadProof, match="out of range"):
        rules.check(proof, GROVE.note)


def test_what_is_not_owed_is_not_in_a_proof() -> None:
    for name in ("treasury:main/pool/CREDIT", "system:node/fees/CREDIT", "world:card/external/CREDIT"):
        refused(replace(GOOD, owed=replace(GOOD.owed, account=name)), GROVE.note)


def test_nobody_shares_a_leaf() -> None:
    same = people(*[500] * 40)
    grove = Grove(same)
    for share in range(rules.SHARES):
        row = b"".join(grove.tiles[share, 0, n] for n in range(1))
        leaves = {row[at : at + tree.NODE_BYTES] for at in range(0, len(row), tree.NODE_BYTES)}
        assert len(leaves) == len(same)


# What a proof tells about others


def _covered(index: int, size: int) -> list[range]:
    """Which leaves each node beside the way of a leaf is over."""
    found, place, last, width = [], index, size - 1, 1
    while last:
        if place ^ 1 <= last:
            first = (place ^ 1) * width
            found.append(range(first, min(first + width, size)))
        place, last, width = place >> 1, last >> 1, width * 2
    return found


@given(st.integers(2, 40), secrets)
def test_no_sum_below_the_four_roots_covers_two_shares_of_anybody(size: int, secret: bytes) -> None:
    grove = Grove(people(*range(1, size + 1)), secret)
    viewer = grove.accounts[0]
    proof = grove.prove(viewer)
    for number, share in enumerate(proof.shares):
        covered = _covered(share.leaf.index, size)
        lower, upper = share.beside[: len(covered)], share.beside[len(covered) :]
        at = {grove.places(each)[number]: each for each in grove.accounts}
        for node, places in zip(lower, covered, strict=True):
            owners = [at[place] for place in places]
            assert len({each.account for each in owners}) == len(owners)
            assert viewer not in owners
            assert tree.sum_of(node) == sum(rules.split(secret, each)[1][number] for each in owners)
        roots = [grove.root(each) for each in range(rules.SHARES)]
        pairs = [tree.join(*roots[:2]), tree.join(*roots[2:])]
        assert list(upper) == [roots[number ^ 1], pairs[1 - number // 2]]  # over everybody


@given(st.lists(st.integers(2**40, 2**60), min_size=3, max_size=20, unique=True), secrets)
def test_a_proof_has_nobody_elses_name_and_exact_amount(owed: list[int], secret: bytes) -> None:
    grove = Grove(people(*owed), secret)
    viewer, *others = grove.accounts
    proof = grove.prove(viewer)
    told = {tree.sum_of(node) for share in proof.shares for node in share.beside}
    told |= {share.leaf.amount for share in proof.shares}
    assert told.isdisjoint(each.amount for each in others)
    shown = repr(proof)
    assert not any(each.account in shown for each in others)


def test_a_leaf_does_not_tell_whose_it_is_to_who_guesses_name_and_amount() -> None:
    """Nothing of a leaf but its salt is hard to guess; without it all the rest does not help."""
    one, other = people(1, 1)
    salted = {rules.leaf_node(one, 0, 0, bytes([n]) * rules.SALT_BYTES) for n in range(20)}
    assert len(salted) == 20
    assert rules.split(b"\x01" * 32, one)[2] != rules.split(b"\x02" * 32, one)[2]
    assert rules.split(b"\x01" * 32, one)[2] != rules.split(b"\x01" * 32, other)[2]


# The note


def test_the_note_says_what_it_was_made_from() -> None:
    assert LiabilitiesNote.parse(GROVE.note.text()) == GROVE.note
    assert LiabilitiesNote.parse(LiabilitiesNote(JOURNAL, ()).text()).totals == ()


def test_the_note_passes_for_no_other_kind_of_note() -> None:
    with pytest.raises(CheckpointMalformed):
        Checkpoint.parse(GROVE.note.text())
    with pytest.raises(RotationMalformed):
        KeyRotation.parse(GROVE.note.text())
    with pytest.raises(LiabilitiesMalformed):
        LiabilitiesNote.parse(JOURNAL.text())


LINE = GROVE.note.text().split("\n")[4]


@pytest.mark.parametrize(
    "line",
    [
        LINE + " ",
        LINE.replace("CREDIT", "credit"),
        LINE.replace("CREDIT 7", "CREDIT 07"),
        LINE.replace("CREDIT 7", "CREDIT 0"),
        LINE.replace("CREDIT 7", "CREDIT -7"),
        f"CREDIT 1 {2**127} {LINE.split()[3]}",
        f"CREDIT 1 0 {LINE.split()[3]}",
        LINE[:-2] + "==",
        LINE + "\n" + LINE,
        LINE.replace("CREDIT", "SAT") + "\n" + LINE,
        "",
    ],
)
def test_a_malformed_line_is_refused(line: str) -> None:
    with pytest.raises(LiabilitiesMalformed):
        LiabilitiesNote.parse(f"choir-liabilities/1\n{JOURNAL.text()}{line}\n")


def test_an_account_on_which_nothing_is_owed_has_no_leaf() -> None:
    grove = Grove([Owed("person:a/available/CREDIT", 0, 0), *people(4, 5)])
    assert grove.size == 2
    only_held = Grove([Owed("person:a/available/CREDIT", 0, 9)])
    rules.check(only_held.prove(only_held.accounts[0]), only_held.note)
