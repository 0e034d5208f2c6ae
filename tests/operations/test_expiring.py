"""Holds end when their time is over, whatever is wrong with another one."""

from __future__ import annotations

import pytest

from choir.foundation.clock import MICROSECONDS
from choir.ledger import queries
from choir.ledger.expiry import HoldExpiry
from choir.ledger.model import Leg
from choir.storage.database import Database
from tests.ledger.books import ALICE, BOB, EVERYONE, Books, draft, moved

MINT = "system:node/issuance/CREDIT"
FULL = 2**63 - 1


def test_a_hold_that_cannot_expire_keeps_no_other_waiting(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    books = Books(database).sign_from_now()
    books.open(*EVERYONE, MINT)
    books.fund(ALICE, 3)
    books.fund(BOB, 5)
    for key in ("a", "b", "c"):
        books.place(ALICE, 1, key=key)
    books.clock.advance(1)
    books.place(BOB, 5, key="later")
    books.post(draft("fill", Leg(MINT, ALICE, FULL)))  # so that nothing can be given back
    books.clock.advance(10 * 86_400)
    expiring = HoldExpiry(books.clock, books.ledger.post_batch, at_once=2)

    def rounds(number: int) -> list[object]:
        for _ in range(number):
            with books.tx() as tx:
                expiring.round(tx)
        with books.tx() as tx:
            return list(queries.expired_holds(tx, books.clock.now_us(), 10))

    assert len(rounds(2)) == 3
    assert books.balance(BOB) == 5
    assert len([record for record in caplog.records if record.message == "a hold could not expire"]) == 3
    books.submitter.submit(moved("away", ALICE, BOB, 100))
    assert len(rounds(1)) == 3  # not looked at again so soon
    books.clock.at_us += 61 * MICROSECONDS
    assert rounds(2) == []
    assert books.balance(ALICE) == FULL - 100 + 3
    books.check()
    books.close()
