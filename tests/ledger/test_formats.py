"""CSV and Beancount: what is written says what the ledger says, and nothing that others wrote can change that."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.errors import Refusal
from choir.foundation.money import Asset
from choir.ledger import holds, queries
from choir.ledger.formats.beancount import beancount_account
from choir.ledger.model import ROLES, Leg, account_name
from tests.conftest import DatabaseFactory
from tests.depth import times
from tests.ledger.books import ALICE, BOB, ISSUANCE, SAT_WORLD, Books, draft, new_books
from tests.ledger.written import (
    HOSTILE,
    SECRET,
    csv_rows,
    ledger_balances,
    plain,
    read_beancount,
    rich_books,
    written,
)

TEXTS = ("kind", "reason", "source", "key")
NUMBERS = {"seq", "leg", "amount", "units"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
OWNERS = ("world:w/external", "system:s/issuance", "person:a_b/available", "person:a-b/available", "agent:x/stake")
ACCOUNTS = [f"{owner}/{asset}" for asset in ("SAT", "CREDIT", "AID") for owner in OWNERS]


@pytest.fixture(scope="module")
def rich(databases: DatabaseFactory) -> Iterator[Books]:
    """Nothing here changes it, so all share it."""
    with new_books(databases) as books:
        yield rich_books(books)


def bean_check(file: Path) -> subprocess.CompletedProcess[str]:
    """The real tool, as a process of its own."""
    program = Path(sys.executable).with_name("bean-check")
    return subprocess.run([program, "--no-cache", file], capture_output=True, text=True, check=False, timeout=120)


def test_beancount_accepts_the_file_and_finds_a_unit_that_is_missing(rich: Books, tmp_path: Path) -> None:
    text = written(rich, "beancount").decode()
    file = tmp_path / "books.beancount"
    file.write_text(text, encoding="utf-8", newline="")
    accepted = bean_check(file)
    assert (accepted.returncode, accepted.stdout + accepted.stderr) == (0, "")
    for line, changed, complaint in (
        (r"  Assets:Person-bob:Available:CREDIT  0\.03 CREDIT", "0.04", "does not balance"),
        (r"\S+ balance Assets:Person-alice:Available:SAT  \d+\.\d+ ~ 0 SAT", "1.000", "Balance failed"),
    ):
        found = re.search(line, text)
        assert found is not None, line
        wrong = re.sub(r"(?<=  )\d+\.\d+", changed, found[0])
        file.write_text(text.replace(found[0], wrong, 1), encoding="utf-8", newline="")
        refused = bean_check(file)
        assert refused.returncode != 0
        assert complaint in refused.stdout + refused.stderr


def test_a_single_unit_of_a_very_large_balance_is_seen_by_beancount(rich: Books, tmp_path: Path) -> None:
    text = written(rich, "beancount").decode()
    name = beancount_account(account_name(SAT_WORLD))
    units = ledger_balances(rich)[SAT_WORLD]
    assert units < -(2**62)
    right = f" balance {name}  {Asset.SAT.format(units)} ~ 0 SAT"
    assert text.count(right) == 1
    file = tmp_path / "books.beancount"
    file.write_text(
        text.replace(right, right.replace(Asset.SAT.format(units), Asset.SAT.format(units + 1))), newline=""
    )
    assert "Balance failed" in bean_check(file).stderr


def test_hostile_words_come_back_as_they_were(rich: Books) -> None:
    reasons = {plain(row["reason"]) for row in csv_rows(written(rich, "csv"))}
    assert reasons >= set(HOSTILE)
    assert set(read_beancount(written(rich, "beancount")).narrations) == reasons


def test_no_cell_of_text_is_a_formula(rich: Books) -> None:
    rows = csv_rows(written(rich, "csv"))
    cells = [value for row in rows for name, value in row.items() if name not in NUMBERS]
    assert any(cell.startswith("'=") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(FORMULA)]
    assert all(re.fullmatch(r"\d+(\.\d+)?", row[name]) for row in rows for name in NUMBERS)


def test_csv_has_one_row_for_each_leg_with_what_the_entry_says(rich: Books) -> None:
    rows = csv_rows(written(rich, "csv"))
    assert ",".join(rows[0]) == (
        "seq,entry_id,time,kind,reason,source,key,leg,from,to,asset,amount,units,refs,receipt,corrects"
    )
    with rich.tx() as tx:
        entries = queries.entries(tx, limit=1000)
    expected = [(entry, n, leg) for entry in entries for n, leg in enumerate(entry.content["legs"], start=1)]
    assert len(rows) == len(expected) > len(entries)
    for row, (entry, n, leg) in zip(rows, expected, strict=True):
        assert [plain(row[name]) for name in TEXTS] == [entry.content[name] for name in TEXTS]
        assert (row["seq"], row["leg"], row["from"], row["to"]) == (str(entry.seq), str(n), leg["from"], leg["to"])
        assert row["units"] == leg["amount"]
        assert bool(row["refs"]) == ("refs" in entry.content)
        assert row["receipt"] == entry.content.get("receipt", "")
    [correction] = [row for row in rows if row["corrects"]]
    assert correction["corrects"] == next(row["entry_id"] for row in rows if plain(row["reason"]) == HOSTILE[0])


@pytest.mark.parametrize("format_", ["csv", "beancount", "aidollar"])
def test_memos_are_in_no_format(rich: Books, format_: str) -> None:
    assert SECRET.encode() not in written(rich, format_)
    with rich.tx() as tx:
        assert tx.value("select count(*) from entry_memos") == len(HOSTILE)


@pytest.mark.parametrize("format_", ["csv", "beancount", "aidollar"])
def test_an_empty_ledger_can_be_written(empty_books: Books, format_: str) -> None:
    lines = written(empty_books, format_).splitlines()
    assert len(lines) == {"csv": 1, "beancount": 2 + 2 * len(Asset), "aidollar": 0}[format_]


NAMES = st.builds(
    "{}:{}/{}{}/{}".format,
    st.sampled_from(["person", "agent", "treasury", "hold"]),
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.sampled_from(sorted(ROLES - {"issuance", "external"})),
    st.one_of(st.just(""), st.from_regex(r"\.[a-z][a-z0-9_]{0,5}", fullmatch=True)),
    st.sampled_from([asset.name for asset in Asset]),
)


@given(st.sampled_from([*ACCOUNTS, ISSUANCE]) | NAMES)
def test_beancounts_name_of_an_account_is_valid_and_can_be_read_back(name: str) -> None:
    root, owner, role, asset = beancount_account(account_name(name)).split(":")
    assert root in ("Assets", "Equity", "Income")
    for part in (owner, role, asset):
        assert re.fullmatch(r"[A-Z0-9][A-Za-z0-9-]*", part)
    kind, _, id_ = owner.partition("-")
    role, _, purpose = role.partition("-")
    back = f"{kind.lower()}:{_back(id_)}/{role.lower()}{'.' if purpose else ''}{_back(purpose)}/{asset}"
    assert back == name


def _back(text: str) -> str:
    return re.sub("--|-u", lambda found: {"--": "-", "-u": "_"}[found[0]], text)


WORDS = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30
)
AMOUNTS = st.integers(1, 1000) | st.integers(1, 2**63 - 1) | st.sampled_from([1, 2**62, 2**63 - 1])
PAIRS = [pair for pair in itertools.permutations(ACCOUNTS, 2) if pair[0].split("/")[2] == pair[1].split("/")[2]]
STEPS = st.one_of(
    st.tuples(st.just("move"), st.lists(st.tuples(st.sampled_from(PAIRS), AMOUNTS), min_size=1, max_size=4), WORDS),
    st.tuples(st.just("place"), st.sampled_from(ACCOUNTS), st.integers(1, 2000) | AMOUNTS),
    st.tuples(st.just("capture"), st.integers(0, 5), st.integers(1, 1000), st.booleans()),
    st.tuples(st.just("release"), st.integers(0, 5)),
    st.tuples(st.just("correct"), st.sampled_from(PAIRS), st.integers(1, 10)),
    st.tuples(st.sampled_from(["freeze", "unfreeze", "close"]), st.sampled_from(ACCOUNTS)),
    st.tuples(st.just("wait"), st.integers(1, 200_000)),
)


class History:
    """Does what it is told as far as the ledger allows it."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.keys = (f"k{n}" for n in itertools.count())
        self.holds: list[Any] = []
        self.posted: list[Any] = []

    def step(self, what: str, *more: Any) -> None:
        with suppress(Refusal):
            getattr(self, what, lambda *args: self.books.change(what, *args))(*more)

    def move(self, moves: list[tuple[tuple[str, str], int]], words: str) -> None:
        legs = [Leg(*pair, amount) for pair, amount in moves]
        made = replace(draft(next(self.keys), *legs, memo=SECRET, memo_salt=bytes(16)), reason=words, refs=(words,))
        self.posted += self.books.post(made)

    def place(self, payer: str, amount: int) -> None:
        self.holds.append(self.books.place(payer, amount, key=next(self.keys), seconds=10**6, captures=2))

    def capture(self, which: int, amount: int, final: bool) -> None:
        hold = self.books.hold(self.holds[which % len(self.holds)])
        to = hold.payer.replace(hold.payer.split("/")[0], "agent:x").replace(hold.payer.split("/")[1], "stake")
        legs = (Leg(hold.account, to, min(amount, hold.remaining)),)
        self.books.post(holds.capture(hold.id, legs, final=final, reason="r", source="test", key=next(self.keys)))

    def release(self, which: int) -> None:
        self.books.post(
            holds.release(self.holds[which % len(self.holds)], reason="r", source="test", key=next(self.keys))
        )

    def correct(self, pair: tuple[str, str], amount: int) -> None:
        self.posted += self.books.post(
            draft(next(self.keys), Leg(*pair, amount), kind="correction", corrects=self.posted[-1].id)
        )

    def wait(self, seconds: int) -> None:
        self.books.clock.advance(seconds)


@settings(max_examples=times(8, 25))
@given(steps=st.lists(STEPS, min_size=10, max_size=40))
def test_what_is_written_of_any_books_sums_up_to_the_ledgers_balances(
    databases: DatabaseFactory, steps: list[tuple[Any, ...]]
) -> None:
    with new_books(databases) as books:
        books.open(*ACCOUNTS)
        history = History(books)
        history.move([(pair, 500_000) for pair in PAIRS if "/issuance/" in pair[0] and ":a_b/" in pair[1]], "begin")
        for payer in ACCOUNTS:
            history.step("place", payer, 1000)
        for step in steps:
            history.step(*step)
        balances = ledger_balances(books)
        _check_csv(written(books, "csv"), balances)
        _check_beancount(written(books, "beancount"), balances)


def _check_csv(data: bytes, balances: dict[str, int]) -> None:
    assert SECRET.encode() not in data
    sums = dict.fromkeys(balances, 0)
    for row in csv_rows(data):
        decimals = Asset.of(row["asset"]).decimals
        assert Decimal(row["amount"]).scaleb(decimals) == int(row["units"]) > 0
        sums[row["from"]] -= int(row["units"])
        sums[row["to"]] += int(row["units"])
    assert sums == balances


def _check_beancount(data: bytes, balances: dict[str, int]) -> None:
    assert SECRET.encode() not in data
    found = read_beancount(data)
    assert sorted(found.accounts.values()) == sorted(balances)
    for name, ours in found.accounts.items():
        asset = account_name(ours).asset
        assert found.sums[name].scaleb(asset.decimals) == balances[ours], ours
        assert found.asserted[name].scaleb(asset.decimals) == balances[ours], ours
        assert name not in found.closed or balances[ours] == 0


def test_every_entry_can_be_found_again_in_beancounts_metadata(rich: Books) -> None:
    found = read_beancount(written(rich, "beancount"))
    with rich.tx() as tx:
        entries = queries.entries(tx, limit=1000)
    assert [item["hash"] for item in found.metadata] == [entry.hash.hex() for entry in entries]
    assert all({"id", "seq", "time", "kind", "source", "key"} <= item.keys() for item in found.metadata)
    assert ALICE in found.accounts.values()
    assert BOB in found.accounts.values()
