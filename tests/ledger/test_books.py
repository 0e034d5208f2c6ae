"""The ledger as pages show it: sums that are bounded and exact, and listings that lose nothing."""

from __future__ import annotations

import pytest

from choir.ledger import books as shown
from choir.ledger import queries
from choir.ledger.model import UnknownEntry, account_name
from tests.ledger.books import Books


def test_what_there_is_adds_up_to_the_trial_balance(town: Books) -> None:
    with town.tx() as tx:
        found = shown.supply(tx, 1_000)
        accounts = queries.accounts(tx, limit=10_000) + queries.accounts(tx, prefix="hold:", limit=10_000)
    assert found
    for line in found:
        of = [(account_name(each.name), each.balance) for each in accounts if each.asset.name == line.asset]
        assert line.people == sum(units for name, units in of if name.owner_kind in ("person", "agent"))
        assert line.held == sum(units for name, units in of if name.is_hold)
        assert line.total == sum(units for name, units in of if not name.may_overdraw)
        assert line.total == line.people + (line.held or 0) + line.treasury + line.node
    assert any(line.held for line in found), "the town has open holds"


def test_too_much_to_add_up_is_said_and_not_guessed(town: Books) -> None:
    with town.tx() as tx:
        assert shown.supply(tx, 1) is None
        whole = {line.asset: line for line in shown.supply(tx, 1_000) or []}
        own = len([each for kind in ("system:", "treasury:", "world:") for each in queries.accounts(tx, prefix=kind)])
        few = shown.supply(tx, own + 1)
        held = len(tx.rows("select 1 from holds where closed_seq is null"))
    if held > own:
        assert few is not None
        for line in few:
            assert line.held is None
            assert line.people == whole[line.asset].people + (whole[line.asset].held or 0)


def test_entries_newest_first_page_by_page(town: Books) -> None:
    with town.tx() as tx:
        last = queries.head(tx).seq
        seen, before = [], shown.END
        while page := shown.newest(tx, before=before, limit=3):
            seen += [entry.seq for entry in page]
            before = page[-1].seq
        assert seen == list(range(last, 0, -1))
        assert shown.numbered(tx, last).hash == queries.head(tx).hash
        for number in (0, last + 1):
            with pytest.raises(UnknownEntry):
                shown.numbered(tx, number)


def test_movements_of_several_accounts_lose_nothing(town: Books) -> None:
    with town.tx() as tx:
        names = [each.name for each in queries.accounts(tx, prefix="person:", limit=100)]
        whole = shown.movements(tx, names, limit=10_000)
        pages, place = [], (shown.END, 0)
        while page := shown.movements(tx, names, before=place, limit=2):
            pages += page
            place = (page[-1].seq, page[-1].leg)
        assert pages == whole
        assert [(each.seq, each.leg) for each in whole] == sorted(
            ((line.seq, line.leg) for name in names for line in queries.statement(tx, name, limit=10_000)), reverse=True
        )
        middle = whole[len(whole) // 2].seq
        assert [each.seq for each in shown.movements(tx, names, after_seq=middle, limit=10_000)] == [
            each.seq for each in whole if each.seq > middle
        ]


def test_open_holds_are_those_of_their_payer(town: Books) -> None:
    with town.tx() as tx:
        rows = tx.rows("select a.name, h.id from holds h join accounts a on a.id = h.payer where h.closed_seq is null")
        for payer in {name for name, _ in rows}:
            found = shown.open_holds(tx, [payer], limit=100)
            assert {each.id for each in found} == {id_ for name, id_ in rows if name == payer}
            assert all(each.remaining == queries.hold(tx, each.id).remaining for each in found)
            assert shown.payers(tx, [found[0].id]) == {found[0].id: payer}
        assert rows
