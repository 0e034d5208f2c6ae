"""Two submitters, each with a memory of its own, and features that may roll back, against the simple model."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from choir.ledger.journal import store
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import Leg
from choir.ledger.service import Ledger
from choir.storage.database import Database
from tests.depth import times
from tests.ledger.books import Books
from tests.ledger.test_model_based import LedgerAndModel

EXAMPLES = int(os.environ.get("CHOIR_TEST_MODEL_EXAMPLES", times(24, 200))) // 6


class _Undone(Exception):
    pass


class TwoMemoriesAndModel(LedgerAndModel):
    """The same histories; which submitter posts changes in their midst."""

    submitters: ClassVar[list[Submitter]]
    numbers: ClassVar[itertools.count[int]] = itertools.count(1_000_000)

    @initialize()
    def choose_first(self) -> None:
        self.books.submitter = self.submitters[0]

    @rule(data=st.data())
    def a_feature_changes_its_mind(self, data: st.DataObject) -> None:
        drafts = [[self.draft(self.leg(data))] for _ in range(3)]
        with suppress(_Undone), self.books.tx() as tx:
            self.books.ledger.post_batch(tx, drafts)
            raise _Undone
        self.agree()

    @rule(data=st.data())
    def take_turns_with_the_same_accounts(self, data: st.DataObject) -> None:
        """Each of them knows only its own part, and what it hears."""
        for _ in range(data.draw(st.integers(2, 6), label="turns")):
            from_, to = data.draw(st.permutations([1, 2, 3]), label="between")[:2]
            who = data.draw(st.sampled_from(["first", "second", "feature", "freeze", "unfreeze"]), label="who")
            if who in ("freeze", "unfreeze"):
                self.act(act=who, place=from_)
                continue
            if who != "feature":
                self.books.submitter = self.submitters[who == "second"]
            count = data.draw(st.sampled_from([1, 2, 5, 5, store.FEW_ENTRIES]), label="entries")
            leg = Leg(self.names[from_], self.names[to], data.draw(st.integers(1, 60), label="amount"))
            self.send([[self.draft(leg)] for _ in range(count)], shared=who != "feature")

    def agree(self) -> None:
        super().agree()
        for submitter in self.submitters:
            assert not self.books.misremembered(submitter)


@pytest.mark.scaled
def test_two_submitters_do_what_a_simple_model_does(database: Database) -> None:
    TwoMemoriesAndModel.books = books = Books(database).sign_from_now()
    second = Submitter(Ledger(books.clock, books.ledger.appender.entropy, books.policy).appender, database)
    TwoMemoriesAndModel.submitters = first, second = [books.submitter, second]
    run_state_machine_as_test(
        TwoMemoriesAndModel,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    books.check()
    for submitter in (first, second):
        submitter.close()
