"""Posting entries: what is accepted, what is refused and why, and that a refusal changes nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.canonical import ObjectHash, canonical_bytes
from choir.foundation.errors import Refusal
from choir.ledger import hashing, queries
from choir.ledger.model import BatchTooLarge, Draft, HoldTerms, Leg, Posted
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Prepared, prepare
from choir.storage.database import Database
from tests.ledger.books import (
    ALICE,
    ALICE_SAT,
    BOB,
    BOB_SAT,
    CAROL,
    EVERYONE,
    ISSUANCE,
    SAT_WORLD,
    START_US,
    Books,
    draft,
    moved,
)

MOST = 2**63 - 1
SOME_HASH = ObjectHash("sha256:" + "ab" * 32)


def codes(outcomes: list[Posted | Refusal]) -> list[str]:
    return [outcome.code if isinstance(outcome, Refusal) else "posted" for outcome in outcomes]


def test_an_entry_moves_money_and_nothing_is_made_or_lost(books: Books) -> None:
    books.fund(ALICE, 1000)
    books.post(moved("k", ALICE, BOB, 400))
    assert (books.balance(ISSUANCE), books.balance(ALICE), books.balance(BOB)) == (-1000, 600, 400)
    books.check()


def test_an_exchange_moves_two_assets_or_none(books: Books) -> None:
    books.fund(ALICE, 1000)
    books.fund(BOB_SAT, 50)
    swap = draft("swap", Leg(ALICE, BOB, 1000), Leg(BOB_SAT, ALICE_SAT, 50))
    books.post(swap)
    assert [books.balance(name) for name in (ALICE, BOB, ALICE_SAT, BOB_SAT)] == [0, 1000, 50, 0]
    assert books.refused(replace(swap, key="again")).code == "ledger.insufficient_funds"
    assert [books.balance(name) for name in (ALICE, BOB, ALICE_SAT, BOB_SAT)] == [0, 1000, 50, 0]
    books.check()


def test_legs_of_one_entry_may_pass_money_on(books: Books) -> None:
    books.post(draft("chain", Leg(ALICE, BOB, 7), Leg(ISSUANCE, ALICE, 7)))
    assert (books.balance(ALICE), books.balance(BOB)) == (0, 7)
    books.check()


def test_insufficient_funds_says_what_was_asked_and_what_is_there(books: Books) -> None:
    books.fund(ALICE, 10)
    refusal = books.refused(draft("k", Leg(ALICE, BOB, 8), Leg(ALICE, CAROL, 5)))
    assert refusal.code == "ledger.insufficient_funds"
    assert refusal.fields.items() >= {"account": ALICE, "asset": "CREDIT", "asked": "13", "available": "10"}.items()
    assert "0.10 CREDIT" in str(refusal)
    assert "0.13 CREDIT" in str(refusal)
    assert (
        f"choir --operator fund {ALICE} AMOUNT" in refusal.advice
    )  # what gets the money, not what shows the lack of it
    assert f"choir ledger issue propose {ALICE} AMOUNT" in refusal.advice


@pytest.mark.parametrize(
    ("legs", "code"),
    [
        ([Leg(ALICE, "person:nobody/available/CREDIT", 1)], "ledger.account.unknown"),
        ([Leg("person:nobody/available/CREDIT", ALICE, 1)], "ledger.account.unknown"),
        ([Leg(ALICE, "nonsense", 1)], "ledger.account.bad_name"),
        ([Leg(ALICE, "person:b/available/EUR", 1)], "money.unknown_asset"),
        ([Leg(ALICE, "person:b/pocket/CREDIT", 1)], "ledger.account.bad_name"),
        ([Leg(ALICE, "person:b/issuance/CREDIT", 1)], "ledger.account.bad_name"),
        ([Leg(ALICE, BOB_SAT, 1)], "ledger.asset_mismatch"),
        ([Leg(ALICE, ALICE, 1)], "ledger.entry.invalid"),
        ([Leg(ISSUANCE, ALICE, 0)], "money.out_of_range"),
        ([Leg(ISSUANCE, ALICE, -5)], "money.out_of_range"),
        ([Leg(ISSUANCE, ALICE, 2**63)], "money.out_of_range"),
        ([Leg(ISSUANCE, ALICE, 10**5000)], "money.out_of_range"),
        ([Leg(ISSUANCE, ALICE, True)], "money.out_of_range"),
        ([Leg(ISSUANCE, ALICE, 1.5)], "money.out_of_range"),  # type: ignore[arg-type]
        ([Leg(ISSUANCE, ALICE, 1, rest=True)], "ledger.entry.invalid"),
        ([Leg(ALICE, f"hold:{UUID(int=1)}/escrow/CREDIT", 1)], "ledger.entry.invalid"),
        ([], "ledger.entry.invalid"),
        ([Leg(ISSUANCE, ALICE, 1)] * 101, "ledger.entry.invalid"),
    ],
)
def test_a_leg_that_cannot_be_is_refused(books: Books, legs: list[Leg], code: str) -> None:
    books.fund(ALICE, 100)
    assert books.refused(draft("k", *legs)).code == code
    books.check()


@pytest.mark.parametrize(
    "bad", ["", "x" * 201, "zero\0character", "lone \ud800 surrogate", 7], ids=["empty", "long", "zero", "lone", "type"]
)
@pytest.mark.parametrize("name", ["kind", "reason", "source", "key", "ref"])
def test_texts_are_present_short_and_storable(books: Books, name: str, bad: object) -> None:
    good = moved("k", ISSUANCE, ALICE, 1)
    wrong = replace(good, refs=(bad,)) if name == "ref" else replace(good, **{name: bad})  # type: ignore[arg-type]
    assert books.refused(wrong).code == "ledger.entry.invalid"


def test_a_memo_too_must_be_storable(books: Books) -> None:
    for bad in ("", "x" * 2001, "a\0b", "\udfff"):
        assert books.refused(replace(moved("k", ISSUANCE, ALICE, 1), memo=bad)).code == "ledger.entry.invalid"


@pytest.mark.parametrize("field", ["receipt", "policy"])
def test_receipt_and_policy_are_object_hashes(books: Books, field: str) -> None:
    wrong = replace(moved("k", ISSUANCE, ALICE, 1), **{field: "sha256:zz"})  # type: ignore[arg-type]
    assert books.refused(wrong).code == "invalid"
    right = replace(moved("k", ISSUANCE, ALICE, 1), **{field: SOME_HASH})  # type: ignore[arg-type]
    posted = books.post(right)[0]
    with books.tx() as tx:
        assert queries.entry(tx, posted.id).content[field] == SOME_HASH


def test_more_references_than_the_limit_are_refused(books: Books) -> None:
    assert books.refused(replace(moved("k", ISSUANCE, ALICE, 1), refs=("r",) * 33)).code == "ledger.entry.invalid"


def test_every_character_that_can_be_stored_comes_back_as_it_was(books: Books) -> None:
    odd = '\x01\x1f\x7f"\\/\b\t\n\f\r\u2028é😀\ufffe' + "𝄞" * 100
    posted = books.post(Draft(odd, odd, odd, odd, (Leg(ISSUANCE, ALICE, 1),), refs=(odd,)))[0]
    assert books.post(Draft(odd, odd, odd, odd, (Leg(ISSUANCE, ALICE, 1),), refs=(odd,)))[0] == posted._replace(
        again=True
    )
    with books.tx() as tx:
        content = queries.entry(tx, posted.id).content
    assert (content["kind"], content["reason"], content["source"], content["key"], content["refs"]) == (
        odd, odd, odd, odd, [odd],
    )  # fmt: skip
    books.check()


def test_the_longest_texts_that_policy_can_allow_fit_the_index(database: Database) -> None:
    from choir.foundation.policy import describe_section

    high = next(
        item.high for item in describe_section("ledger", LedgerPolicy()) if item.name == "ledger.text_chars_max"
    )
    books = Books(database, policy=LedgerPolicy(text_chars_max=high)).sign_from_now()
    books.open(*EVERYONE)
    wide = "".join(chr(0x10000 + (n * 7919) % 0xFFFFF) for n in range(high))  # four bytes each, hard to compress
    assert len(wide.encode()) == 4 * high
    first = books.submitter.submit(Draft("t", wide, wide, wide, (Leg(ISSUANCE, ALICE, 1),)))
    assert books.post(Draft("t", wide, wide, wide, (Leg(ISSUANCE, ALICE, 1),)))[0].seq == first[0].seq
    books.close()


def test_a_balance_can_be_as_large_as_64_bits_and_no_larger(books: Books) -> None:
    books.fund(ALICE, MOST)
    assert books.refused(moved("k", ISSUANCE, BOB, 1)).fields == {"account": ISSUANCE}
    assert books.refused(moved("k", ISSUANCE, ALICE, 1)).code == "ledger.balance_out_of_range"
    books.post(moved("back", ALICE, ISSUANCE, MOST))
    books.fund(BOB, MOST)
    books.check()


def test_a_balance_that_would_overflow_on_the_way_is_refused_and_harms_nobody_else(books: Books) -> None:
    """Each posting stores the balance it leads to, so none may pass 64 bits, not even for a moment."""
    books.open("treasury:main/issuance/CREDIT")
    books.fund(ALICE, MOST)
    through = draft("k", Leg("treasury:main/issuance/CREDIT", ALICE, 5), Leg(ALICE, BOB, 5))
    assert books.refused(through).code == "ledger.balance_out_of_range"
    below = draft("k", Leg(ISSUANCE, BOB, 5), Leg(ALICE, ISSUANCE, 5))
    assert books.refused(below).code == "ledger.balance_out_of_range"
    outcomes = books.submitter.submit_batch([[through], [moved("k2", ALICE, BOB, 1)], [below]])
    assert codes(outcomes) == ["ledger.balance_out_of_range", "posted", "ledger.balance_out_of_range"]
    many = [[moved(f"m{n}", ALICE, BOB, 1)] for n in range(120)]
    outcomes = books.submitter.submit_batch(
        [[replace(through, key="k3", legs=(Leg(ISSUANCE, ALICE, MOST),) * 3)], *many]
    )
    assert codes(outcomes) == ["ledger.balance_out_of_range"] + ["posted"] * 120
    books.check()


def test_the_same_request_again_gets_the_same_acceptance(books: Books) -> None:
    first = books.post(moved("k", ISSUANCE, ALICE, 5))[0]
    books.clock.advance(60)
    again = books.post(moved("k", ISSUANCE, ALICE, 5))[0]
    assert again == first._replace(again=True)
    assert books.submitter.submit(moved("k", ISSUANCE, ALICE, 5)) == [again]
    assert books.balance(ALICE) == 5
    books.check()


@pytest.mark.parametrize(
    "other",
    [
        {"legs": (Leg(ISSUANCE, ALICE, 6),)},
        {"legs": (Leg(ISSUANCE, BOB, 5),)},
        {"legs": (Leg(ISSUANCE, ALICE, 5), Leg(ISSUANCE, ALICE, 5))},
        {"reason": "another"},
        {"kind": "another"},
        {"refs": ("job_1",)},
        {"receipt": SOME_HASH},
        {"policy": SOME_HASH},
        {"memo": "hello"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_the_same_key_with_other_content_is_refused(books: Books, other: dict[str, object]) -> None:
    first = moved("k", ISSUANCE, ALICE, 5)
    books.post(first)
    changed = replace(first, **other)  # type: ignore[arg-type]
    assert books.refused(changed).code == "ledger.conflicting_key"
    assert codes(books.submitter.submit_batch([[changed]])) == ["ledger.conflicting_key"]
    assert books.post(replace(changed, source="someone else"))[0].seq == 2, "keys belong to their source"


def test_a_refusal_binds_no_key(books: Books) -> None:
    assert books.refused(moved("k", ALICE, BOB, 5)).code == "ledger.insufficient_funds"
    books.fund(ALICE, 5)
    books.post(moved("k", ALICE, BOB, 3))
    assert books.balance(BOB) == 3


def test_entries_of_a_batch_are_judged_in_order_and_each_on_its_own(books: Books) -> None:
    outcomes = books.batch(
        [
            [moved("too early", ALICE, BOB, 5)],
            [moved("fund", ISSUANCE, ALICE, 5)],
            [moved("now", ALICE, BOB, 5)],
            [moved("spent", ALICE, CAROL, 1)],
            [moved("fund", ISSUANCE, ALICE, 5)],
            [moved("fund", ISSUANCE, ALICE, 6)],
        ]
    )
    broke, conflict = "ledger.insufficient_funds", "ledger.conflicting_key"
    assert codes(outcomes) == [broke, "posted", "posted", broke, "posted", conflict]
    again = outcomes[4]
    assert isinstance(again, Posted)
    assert again.again
    assert again.seq == 1
    books.check()


def test_linked_entries_stand_or_fall_together(books: Books) -> None:
    books.fund(ALICE, 10)
    outcomes = books.batch(
        [
            [moved("a1", ALICE, BOB, 4), moved("a2", BOB, CAROL, 4)],
            [moved("b1", ALICE, BOB, 6), moved("b2", BOB, CAROL, 7), moved("b3", ISSUANCE, ALICE, 1)],
            [moved("c1", ALICE, BOB, 6)],
        ]
    )
    assert codes(outcomes) == [
        "posted", "posted", "ledger.linked_refused", "ledger.insufficient_funds", "ledger.linked_refused", "posted",
    ]  # fmt: skip
    assert [books.balance(name) for name in (ALICE, BOB, CAROL)] == [0, 6, 4]
    books.check()


def test_an_entry_that_fell_with_its_group_can_be_sent_again_in_the_same_batch(books: Books) -> None:
    one = moved("one", ISSUANCE, ALICE, 4)
    outcomes = books.batch([[one, moved("two", BOB, ALICE, 1)], [one]])
    assert codes(outcomes) == ["ledger.linked_refused", "ledger.insufficient_funds", "posted"]
    accepted = outcomes[2]
    assert isinstance(accepted, Posted)
    assert not accepted.again
    assert books.balance(ALICE) == 4
    books.check()


def test_linked_entries_sent_again_get_their_acceptances(books: Books) -> None:
    group = [moved("a", ISSUANCE, ALICE, 4), moved("b", ALICE, BOB, 4)]
    first = books.batch([group])
    assert books.batch([group]) == [one._replace(again=True) for one in first if isinstance(one, Posted)]


def test_an_entry_that_was_accepted_alone_cannot_be_linked_afterwards(books: Books) -> None:
    alone = moved("alone", ISSUANCE, ALICE, 4)
    books.post(alone)
    outcomes = books.batch([[moved("new", ISSUANCE, ALICE, 1), alone]])
    assert codes(outcomes) == ["ledger.linked_refused", "ledger.conflicting_key"]
    twice = moved("twice", ISSUANCE, ALICE, 4)
    assert codes(books.batch([[twice, twice]])) == ["ledger.linked_refused", "ledger.conflicting_key"]
    assert books.balance(ALICE) == 4


def test_a_linked_group_names_one_culprit_whatever_else_is_in_the_batch(books: Books) -> None:
    bad = [moved("a", ISSUANCE, ALICE, 0), moved("b", ISSUANCE, ALICE, -1), moved("c", ISSUANCE, ALICE, 1)]
    expected = ["money.out_of_range", "ledger.linked_refused", "ledger.linked_refused"]
    assert codes(books.batch([bad])) == expected
    assert codes(books.batch([bad[:2]])) == expected[:2]
    assert codes(books.batch([bad[:2], [moved("d", ISSUANCE, ALICE, 1)]])) == [*expected[:2], "posted"]


def test_an_empty_batch_and_an_empty_group_are_nothing(books: Books) -> None:
    assert books.batch([]) == []
    assert books.batch([[]]) == []
    assert books.batch([[], [moved("k", ISSUANCE, ALICE, 1)], []])[0].seq == 1  # type: ignore[union-attr]
    assert books.submitter.submit_batch([]) == []
    books.check()


def test_a_batch_beyond_the_limit_is_refused_whole(database: Database) -> None:
    books = Books(database, policy=LedgerPolicy(batch_entries_max=3)).sign_from_now()
    books.open(*EVERYONE)
    four = [[moved(f"k{n}", ISSUANCE, ALICE, 1)] for n in range(4)]
    for send in (books.batch, books.submitter.submit_batch):
        with pytest.raises(BatchTooLarge):
            send(four)
    assert books.balance(ALICE) == 0
    books.batch(four[:3])
    assert books.balance(ALICE) == 3
    books.close()


def test_a_large_batch_is_written_like_a_small_one(books: Books) -> None:
    groups = [[moved(f"k{n}", ISSUANCE, ALICE, n + 1)] for n in range(500)]
    outcomes = books.submitter.submit_batch(groups)
    assert [outcome.seq for outcome in outcomes if isinstance(outcome, Posted)] == list(range(1, 501))
    assert books.batch(groups) == [one._replace(again=True) for one in outcomes if isinstance(one, Posted)]
    books.check()


def test_ids_sort_like_their_entries_also_within_one_microsecond(books: Books, superuser_dsn: str) -> None:
    import psycopg

    with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
        superuser.execute("update ledger_head set seq = 16300")  # the low bits of the number are about to wrap
    outcomes = books.batch([[moved(f"k{n}", ISSUANCE, ALICE, 1)] for n in range(200)])
    outcomes += books.batch([[moved(f"l{n}", ISSUANCE, ALICE, 1)] for n in range(3)])
    ids = [outcome.id for outcome in outcomes if isinstance(outcome, Posted)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 203
    assert {id_.version for id_ in ids} == {7}
    assert {id_.variant for id_ in ids} == {UUID(int=0x8 << 60).variant}


def test_ledger_time_never_runs_backwards(books: Books) -> None:
    first = books.fund(ALICE, 1)
    books.clock.at_us = START_US - 5
    second = books.fund(ALICE, 2)
    books.clock.at_us = START_US + 5
    third = books.fund(ALICE, 3)
    assert [first.at_us, second.at_us, third.at_us] == [START_US, START_US, START_US + 5]
    books.check()


def test_a_correction_names_an_entry_that_exists(books: Books) -> None:
    wrong = books.fund(ALICE, 10)
    unknown = replace(moved("c", ALICE, ISSUANCE, 10), corrects=uuid4())
    assert books.refused(unknown).code == "ledger.entry.unknown"
    posted = books.post(replace(unknown, corrects=wrong.id))[0]
    assert books.submitter.submit(replace(unknown, corrects=wrong.id)) == [posted._replace(again=True)]
    with books.tx() as tx:
        assert queries.entry(tx, posted.id).content["corrects"] == str(wrong.id)
    books.check()


def test_what_a_person_wrote_is_kept_beside_the_journal_and_can_be_erased(books: Books) -> None:
    note = replace(moved("k", ISSUANCE, ALICE, 5), memo="for Zoë's birthday")
    first = books.post(note)[0]
    with books.tx() as tx:
        assert queries.memo(tx, first.seq) == "for Zoë's birthday"
        content = queries.entry(tx, first.id).content
        salt = tx.value("select salt from entry_memos")
    assert "Zoë" not in json.dumps(content, ensure_ascii=False)
    assert content["memo"] == "sha256:" + hashlib.sha256(salt + "for Zoë's birthday".encode()).hexdigest()
    assert books.post(note)[0] == first._replace(again=True)
    assert books.refused(replace(note, memo="for someone else")).code == "ledger.conflicting_key"
    with books.tx() as tx:
        assert tx.run("delete from entry_memos where seq = %s", first.seq) == 1
        assert queries.memo(tx, first.seq) is None
    assert books.post(note)[0] == first._replace(again=True)
    assert books.refused(replace(note, memo=None)).code == "ledger.conflicting_key"
    books.check()


def test_a_commitment_cannot_be_guessed_from_the_memo(books: Books) -> None:
    """Without a salt, an erased memo could be found again by trying likely ones."""
    books.submitter.submit(replace(moved("k1", ISSUANCE, ALICE, 5), memo="yes"))
    books.post(replace(moved("k2", ISSUANCE, ALICE, 5), memo="yes"))
    with books.tx() as tx:
        salts = [row[0] for row in tx.rows("select salt from entry_memos")]
        memos = {item.content["memo"] for item in queries.entries(tx)}
    assert [len(salt) for salt in salts] == [16, 16]
    assert len(set(salts)) == len(memos) == 2
    assert books.refused(replace(moved("k3", ISSUANCE, ALICE, 5), memo="yes", memo_salt=b"pepper")).code == (
        "ledger.entry.invalid"
    )


def test_the_chain_can_be_computed_by_anyone_from_the_words_of_the_specification(books: Books) -> None:
    books.fund(ALICE, 10)
    books.post(
        Draft("t", "r", "s", "k", (Leg(ALICE, BOB, 1), Leg(ALICE, CAROL, 2)), refs=("a", "b"), receipt=SOME_HASH)
    )
    prev = bytes(32)
    with books.tx() as tx:
        stored = queries.entries(tx)
    for number, one in enumerate(stored, start=1):
        content = hashlib.sha256(canonical_bytes(one.content)).digest()
        preimage = (
            b"choir-entry-v1" + prev + number.to_bytes(8, "big") + one.at_us.to_bytes(8, "big") + one.id.bytes + content
        )
        assert (one.seq, one.prev, one.hash) == (number, prev, hashlib.sha256(preimage).digest())
        prev = one.hash
    with books.tx() as tx:
        assert queries.head(tx).hash == prev


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
amounts = st.integers(1, MOST)
hashes = st.binary(min_size=32, max_size=32).map(lambda data: ObjectHash("sha256:" + data.hex()))


@given(
    st.builds(
        Draft,
        texts.filter(lambda kind: not kind.startswith("hold.")),
        texts,
        texts,
        texts,
        st.lists(amounts.map(lambda amount: Leg(ALICE, BOB, amount)), min_size=1, max_size=4).map(tuple),
        refs=st.lists(texts, max_size=3).map(tuple),
        receipt=st.none() | hashes,
        policy=st.none() | hashes,
        corrects=st.none() | st.uuids(),
        memo=st.none() | texts,
        memo_salt=st.binary(min_size=16, max_size=16),
    )
)
def test_the_fast_content_is_canonical_json_and_reads_back(wanted: Draft) -> None:
    prepared = prepare(wanted, LedgerPolicy())
    assert isinstance(prepared, Prepared)
    assert canonical_bytes(json.loads(prepared.content)) == prepared.content.encode()
    read, memo = hashing.parse_content(prepared.content)
    assert read == replace(wanted, memo=None, memo_salt=b"")
    assert (memo is None) == (wanted.memo is None)


@given(st.uuids(), st.integers(0, 2**53 - 1), st.integers(1, 2**31 - 1), amounts)
def test_the_content_of_a_hold_is_canonical_json_too(id_: UUID, expires_us: int, captures: int, amount: int) -> None:
    place = draft(
        "k",
        Leg(ALICE, f"hold:{id_}/escrow/CREDIT", amount),
        kind="hold.place",
        hold=HoldTerms(id_, expires_us, captures),
    )
    content = prepare(place, LedgerPolicy()).content
    assert canonical_bytes(json.loads(content)) == content.encode()
    assert hashing.parse_content(content)[0] == place


@given(
    st.binary(max_size=60) | st.sampled_from([b"[" * 5000, b'{"legs":1e999}', b'{"hold":{"captures":1e999,"id":""}}'])
)
def test_content_that_is_not_an_entry_is_refused_not_crashed_on(data: bytes) -> None:
    with pytest.raises(Refusal):
        hashing.parse_content(data.decode("utf-8", "replace"))


def test_the_books_are_open_to_the_outside_world_only_where_it_may_overdraw(books: Books) -> None:
    for name in (ISSUANCE, SAT_WORLD):
        to = ALICE_SAT if name is SAT_WORLD else ALICE
        books.post(moved(f"from {name}", name, to, 3))
        assert books.balance(name) == -3
    for name in (ALICE, BOB, CAROL):
        assert books.refused(moved("k", name, ISSUANCE, 4)).code == "ledger.insufficient_funds"
    books.check()
