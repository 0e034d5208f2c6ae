"""The ai$ file: exactly its fields; out, in and out again it is the same bytes; what cannot be read is refused."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.clock import ManualClock, SeededEntropy
from choir.foundation.errors import Refusal
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.formats.aidollar import BadAidollarLine, EntryType, Line, account_of, id_of, read_line
from choir.ledger.formats.aidollar_import import AidInUse, AidollarImport, AidollarTooLarge, Imported
from choir.ledger.memos import erase_memos
from choir.ledger.model import BadAccountName, DevelopmentOnly, Leg, account_name
from choir.ledger.policy import LedgerPolicy
from choir.ledger.service import Ledger
from choir.storage.database import Database
from tests.conftest import DatabaseFactory
from tests.depth import times
from tests.ledger.books import ALICE, BOB, Books, draft, new_books
from tests.ledger.written import HOSTILE, SECRET, ledger_balances, rich_books, written

MINT = "system:main/issuance/AID"
ADA, BEN = "agent:ada/available/AID", "agent:b-2_x/available/AID"
POOL, OWED, PERSON = "treasury:main/pool.slots/AID", "agent:ada/owed/AID", "person:ada/available/AID"

# As a program writes it that computes in floats; the last amount is what was left of 0.1 + 0.2.
SEED = """\
{"entry_id": "1f3c", "entry_type": "genesis", "amount": 100.0, "from_id": "", "to_id": "agent_1", "memo": "starting balance", "created_at": 1767225600.1234567}
{"entry_id": "2a", "entry_type": "award", "amount": 0.02, "from_id": "treasury", "to_id": "agent_1", "memo": "", "created_at": 1767225601}
{"entry_id": "2b", "entry_type": "award", "amount": 1e-05, "from_id": "treasury", "to_id": "agent_1", "memo": "tiny", "created_at": 1767225601.5}

{"entry_id": "3", "entry_type": "transfer", "amount": 12.5, "from_id": "agent_1", "to_id": "agent_2", "memo": "thanks ♫ \\"you\\"", "created_at": 1767225602.0}
{"entry_id": "4", "entry_type": "paypal_payment", "amount": 50.0, "from_id": "treasury", "to_id": "agent_2", "memo": "PayPal live: $5.00 USD → 50.00 ai$ (rate=10.0)", "created_at": 1767225603.25}
{"entry_id": "5", "entry_type": "spend", "amount": 0.30000000000000004, "from_id": "agent_2", "to_id": "treasury", "memo": "penalty by human: late", "created_at": 1767225604.0}
"""  # noqa: E501 - lines of the file


def import_into(books: Books, data: bytes | BinaryIO, *, production: bool = False) -> Imported:
    service = AidollarImport(books.ledger, books.accounts, SeededEntropy(5), production=production)
    file = io.BytesIO(data) if isinstance(data, bytes) else data
    read = service.read(file, lambda _done, _total: None)
    with books.tx() as tx:
        return service.post(tx, read, lambda _done, _total: None)


class Pipe(io.BytesIO):
    """A file of which more comes only when others could post meanwhile."""

    def __init__(self, data: bytes, books: Books) -> None:
        super().__init__(data)
        self.books = books
        self.posted = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        with self.books.tx() as tx:
            tx.run("set local lock_timeout = '1s'")
            self.books.ledger.post(tx, draft(f"meanwhile {self.posted}", Leg(ALICE, BOB, 1)))
        self.posted += 1
        return super().readline(-1 if size is None else size)


@pytest.fixture
def own(empty_books: Books) -> Books:
    """A ledger with a life of its own, in AID and in other assets."""
    rich_books(empty_books)
    empty_books.open(MINT, ADA, BEN, POOL, OWED, PERSON)
    for n, text in enumerate(HOSTILE):
        given_ = draft(f"award {n}", Leg(MINT, ADA, 10**6 + n), kind="entitlements.award")
        empty_books.post(replace(given_, reason=text, memo=SECRET, memo_salt=bytes(16)))
    empty_books.post(draft("g", Leg(MINT, BEN, 100 * 10**6), kind="entitlements.genesis"))
    empty_books.post(draft("pp", Leg(MINT, PERSON, 2**62), kind="rails.paypal"))
    empty_books.post(draft("t", Leg(ADA, BEN, 1), Leg("person:alice/available/SAT", "person:bob/available/SAT", 1)))
    empty_books.post(draft("p", Leg(ADA, POOL, 20), Leg(MINT, OWED, 30), kind="entitlements.penalty"))
    bid = empty_books.place(BEN, 500, key="bid")
    inside = empty_books.hold(bid).account
    empty_books.post(holds.capture(bid, (Leg(inside, POOL, 400),), reason="the slot", source="test", key="won"))
    return empty_books


def test_a_line_has_exactly_the_fields_of_the_format(own: Books) -> None:
    lines = [json.loads(line) for line in written(own, "aidollar").decode().removesuffix("\n").split("\n")]
    fields = ["entry_id", "entry_type", "amount", "from_id", "to_id", "memo", "created_at"]
    assert all(list(line) == fields for line in lines)
    assert [line["memo"] for line in lines[: len(HOSTILE)]] == list(HOSTILE)
    told = [(line["entry_type"], line["from_id"], line["to_id"], line["memo"]) for line in lines[len(HOSTILE) :]]
    hold = told[5][2]
    assert hold.startswith("system:hold-")
    assert told == [
        ("genesis", "system:main/issuance", "b-2_x", "because"),
        ("paypal_payment", "system:main/issuance", "person:ada/available", "because"),
        ("transfer", "ada", "b-2_x", "because"),
        ("spend", "ada", "treasury:main/pool.slots", "penalty: because"),
        ("spend", "system:main/issuance", "agent:ada/owed", "owed: because"),
        ("transfer", "b-2_x", hold, "a job"),
        ("spend", hold, "treasury:main/pool.slots", "the slot"),
        ("transfer", hold, "b-2_x", "the slot"),
    ]
    assert len({line["entry_id"] for line in lines}) == len(lines)


def test_out_in_and_out_again_is_the_same_bytes_and_balances(own: Books, databases: DatabaseFactory) -> None:
    first = written(own, "aidollar")
    with new_books(databases) as copy:
        lines = first.count(b"\n")
        assert import_into(copy, first) == (lines, lines)
        assert written(copy, "aidollar") == first
        copy.check()
        assert SECRET.encode() not in first
        mine = {name: units for name, units in ledger_balances(own).items() if name.endswith("/AID") and units}
        theirs = {name: units for name, units in ledger_balances(copy).items() if units}
        assert theirs == mine
        assert import_into(copy, first) == (lines, 0)
        assert written(copy, "aidollar") == first


def test_a_file_of_the_program_whose_format_it_is_comes_in(empty_books: Books) -> None:
    assert import_into(empty_books, SEED.encode()) == (6, 6)
    balances = ledger_balances(empty_books)
    assert balances == {
        "system:aidollar/issuance/AID": -100_000_000,
        "treasury:main/issuance/AID": -(20_000 + 10 + 50_000_000) + 300_000,
        "agent:agent_1/available/AID": 100_000_000 + 20_000 + 10 - 12_500_000,
        "agent:agent_2/available/AID": 12_500_000 + 50_000_000 - 300_000,
    }
    expected = SEED.replace("1e-05", "0.00001").replace("0.30000000000000004", "0.3").replace("\n\n", "\n")
    assert written(empty_books, "aidollar").decode() == expected
    empty_books.check()


def test_a_longer_file_goes_on_where_the_shorter_ended(empty_books: Books) -> None:
    lines = SEED.encode().splitlines(keepends=True)
    assert import_into(empty_books, b"".join(lines[:2])) == (2, 2)
    assert import_into(empty_books, b"".join(lines)) == (6, 4)


def test_a_file_is_posted_in_several_batches_and_yet_whole_or_not_at_all(database: Database) -> None:
    books = Books(database, policy=LedgerPolicy(batch_entries_max=2)).sign_from_now()
    twice = SEED + SEED.split("\n", maxsplit=1)[0]
    with pytest.raises(BadAidollarLine, match=r"Line 8 .* earlier line"):
        import_into(books, twice.encode())
    assert ledger_balances(books) == {}
    assert import_into(books, SEED.encode()) == (6, 6)
    books.check()
    books.close()


def test_others_post_while_the_file_is_read(books: Books) -> None:
    books.fund(ALICE, 100)
    pipe = Pipe(SEED.encode(), books)
    assert import_into(books, pipe) == (6, 6)
    assert books.balance(BOB) == pipe.posted > 6
    books.check()


def test_aid_that_comes_from_elsewhere_while_the_file_is_read_is_noticed(empty_books: Books) -> None:
    service = AidollarImport(empty_books.ledger, empty_books.accounts, SeededEntropy(5), production=False)
    read = service.read(io.BytesIO(SEED.encode()), lambda _done, _total: None)
    empty_books.open(MINT, ADA)
    empty_books.post(draft("meanwhile", Leg(MINT, ADA, 1)))
    with pytest.raises(AidInUse), empty_books.tx() as tx:
        service.post(tx, read, lambda _done, _total: None)


@pytest.mark.parametrize("limit", [{"aidollar_lines_max": 5}, {"aidollar_bytes_max": 700}])
def test_a_file_that_is_too_large_is_refused_before_anything_is_locked(limit: dict[str, int]) -> None:
    policy = LedgerPolicy(**limit)
    service = AidollarImport(
        Ledger(ManualClock(0), SeededEntropy(5), policy), Accounts(ManualClock(0), policy), SeededEntropy(5),
        production=False,
    )  # fmt: skip
    with pytest.raises(AidollarTooLarge):
        service.read(io.BytesIO(SEED.encode()), lambda _done, _total: None)
    lines = SEED.encode().splitlines(keepends=True)
    assert service.read(io.BytesIO(b"".join(lines[:3])), lambda _done, _total: None).lines == 3


HOLDERS = [ADA, BEN, PERSON, OWED]
A_LEG = st.builds(
    Leg, st.sampled_from([*HOLDERS, MINT]), st.sampled_from([*HOLDERS, MINT]), st.integers(1, 5), st.just(False)
).filter(lambda leg: leg.from_ != leg.to)
LEGS = st.lists(A_LEG, min_size=1, max_size=6)


def covered(has: Counter[str], legs: list[Leg]) -> list[Leg]:
    """These legs, and behind them what those need from issuance who would be overdrawn at the end."""
    for leg in legs:
        has[leg.from_] -= leg.amount
        has[leg.to] += leg.amount
    more = [Leg(MINT, name, -units) for name, units in has.items() if units < 0 and name != MINT]
    has.update({leg.to: leg.amount for leg in more})
    return legs + more


KINDS = st.sampled_from(["transfer", "entitlements.penalty", "entitlements.genesis", "rails.paypal", "slots.award"])


@settings(max_examples=times(6, 20), deadline=None)
@given(asked=st.lists(st.tuples(KINDS, LEGS), min_size=1, max_size=8))
def test_whatever_the_ledger_accepted_comes_in_elsewhere(
    databases: DatabaseFactory, asked: list[tuple[str, list[Leg]]]
) -> None:
    """Also entries that overdraw somebody between their legs, which lines one by one could not."""
    with new_books(databases) as own, new_books(databases) as copy:
        own.open(MINT, ADA, BEN, PERSON, OWED)
        has: Counter[str] = Counter()
        for n, (kind, legs) in enumerate(asked):
            own.post(draft(f"{n}", *covered(has, legs), kind=kind))
        first = written(own, "aidollar")
        lines = first.count(b"\n")
        assert import_into(copy, first) == (lines, lines)
        assert import_into(copy, first) == (lines, 0)
        assert written(copy, "aidollar") == first
        mine, theirs = ledger_balances(own), ledger_balances(copy)
        assert {name: units for name, units in mine.items() if units} == {n: u for n, u in theirs.items() if u}
        copy.check()


def test_money_that_goes_in_a_circle_comes_in_as_one_entry(empty_books: Books, databases: DatabaseFactory) -> None:
    """No order of these lines would do."""
    empty_books.open(MINT, ADA, BEN)
    empty_books.post(draft("circle", Leg(ADA, BEN, 7), Leg(BEN, ADA, 7)))
    first = written(empty_books, "aidollar")
    with new_books(databases) as copy:
        assert import_into(copy, first) == (2, 2)
        with copy.tx() as tx:
            [entry] = queries.entries(tx)
            assert len(entry.content["legs"]) == 2
            erase_memos(tx, ["system:aidollar"])
        lines = [json.loads(line) for line in written(copy, "aidollar").splitlines()]
        assert [line["memo"] for line in lines] == ["", ""]


def test_lines_of_an_entry_that_somebody_changed_stand_alone(empty_books: Books, databases: DatabaseFactory) -> None:
    empty_books.open(MINT, ADA, BEN)
    empty_books.post(draft("two", Leg(MINT, ADA, 7), Leg(ADA, BEN, 7)))
    changed_ = written(empty_books, "aidollar").replace(b'"transfer"', b'"spend"')
    with new_books(databases) as copy:
        assert import_into(copy, changed_) == (2, 2)
        with copy.tx() as tx:
            assert [len(entry.content["legs"]) for entry in queries.entries(tx)] == [1, 1]
        assert written(copy, "aidollar") == changed_


def test_memos_of_a_file_are_beside_the_journal_and_can_be_erased(empty_books: Books) -> None:
    import_into(empty_books, SEED.encode())
    assert b"starting balance" not in empty_books.export()
    with empty_books.tx() as tx:
        erase_memos(tx, ["system:aidollar"])
    assert {json.loads(line)["memo"] for line in written(empty_books, "aidollar").splitlines()} == {""}
    empty_books.check()


def changed(**fields: object) -> Callable[[str], str]:
    return lambda line: json.dumps(json.loads(line) | fields)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda line: line[:-10], "not a JSON object"),
        (lambda _: "[]", "fields"),
        (lambda line: line.replace('"memo"', '"note"'), "fields"),
        (lambda line: line.replace('"memo"', '"to_id"'), "each field once"),
        (lambda line: line.replace("12.5,", "NaN,"), "not a JSON object"),
        (lambda line: line.replace("12.5,", "1e999999,"), "64 bits"),
        (lambda line: line.replace("12.5,", "-1,"), "more than zero"),
        (lambda line: line.replace("12.5,", "0.0,"), "more than zero"),
        (lambda line: line.replace("12.5,", "1e-12,"), "six decimals"),
        (lambda line: line.replace("12.5,", "1.2345678,"), "six decimals"),
        (lambda line: line.replace("12.5,", "9223372036854.775808,"), "64 bits"),
        (changed(amount="12.5"), "must be a number"),
        (changed(entry_type="loan"), "entry_type"),
        (changed(created_at="2026-01-01"), "created_at"),
        (changed(memo=None), "memo"),
        (changed(memo="half \ud83d"), "whole characters"),
        (changed(to_id="\ud83d"), "whole characters"),
        (changed(memo="a\0b"), "zero character"),
        (changed(entry_id=""), "key"),
        (changed(from_id="agent 1"), "The id 'agent 1'"),
        (changed(from_id="agent:agent_1/available"), "another id"),
        (changed(from_id="hold:x/escrow"), "another id"),
        (changed(to_id="agent_1"), "to itself"),
        (changed(from_id="agent_3"), "were requested"),
        (changed(entry_id="2a"), "already used"),
        (lambda line: f"{line}\n{line}", "earlier line"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_line_and_leaves_nothing(
    database_books: Books, change: Callable[[str], str], why: str
) -> None:
    lines = SEED.split("\n")
    lines[4] = change(lines[4])
    with pytest.raises(BadAidollarLine, match=rf"Line [56] of the ai\$ file .*{why}") as refusal:
        import_into(database_books, "\n".join(lines).encode())
    assert refusal.value.fields["line"] == (6 if why == "earlier line" else 5)
    with database_books.tx() as tx:
        assert queries.head(tx).acts == queries.head(tx).seq == 0


@pytest.fixture(scope="module")
def database_books(databases: DatabaseFactory) -> Iterator[Books]:
    """An empty ledger that all refusals leave empty."""
    with new_books(databases) as books:
        yield books


def test_a_ledger_with_aid_of_its_own_takes_no_file(own: Books) -> None:
    exported = written(own, "aidollar")
    with pytest.raises(AidInUse):
        import_into(own, exported)
    assert written(own, "aidollar") == exported


def test_a_production_node_takes_no_file(database_books: Books) -> None:
    with pytest.raises(DevelopmentOnly):
        import_into(database_books, SEED.encode(), production=True)


IDS = st.text("aZ09_-:/.hold", max_size=12) | st.sampled_from(
    ["", "treasury", "person:x/available", "agent:x/available", "agent:treasury/available", "system:aidollar/issuance"]
)


@given(IDS)
def test_an_id_that_is_read_is_written_the_same(id_: str) -> None:
    try:
        name = account_of(id_)
    except Refusal:
        return
    assert id_of(account_name(name)) == id_


@given(
    st.from_regex(
        r"(person|agent|treasury|system):(treasury|main|aidollar|[a-zA-Z0-9_-]{1,4})/(available|issuance|owed|pool)"
        r"(\.[a-z]{1,3})?/AID",
        fullmatch=True,
    )
)
def test_every_account_has_an_id_of_its_own(text: str) -> None:
    try:
        name = account_name(text)
    except BadAccountName:
        return
    assert account_of(id_of(name)) == text


@given(
    st.builds(
        Line,
        st.text(),
        st.sampled_from(EntryType),
        st.integers(1, 2**63 - 1),
        st.text(),
        st.text(),
        st.text(),
        st.from_regex(r"(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?", fullmatch=True),
    )
)
def test_a_line_that_is_written_is_read_the_same(line: Line) -> None:
    assert read_line(1, line.text().encode()) == line
