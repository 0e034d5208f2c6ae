"""The ledger against a model of it that is small enough to be believed.

Random accounts, transfers, linked groups, holds, repeated and conflicting requests, freezes, closings
and a clock that jumps. The model keeps plain numbers in dictionaries and shares no code with the
ledger; after each step both must agree on every balance, refusal, hold and hash.

CHOIR_TEST_MODEL_EXAMPLES sets how many histories are tried (default 60, and 200 in a deep run).
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from uuid import UUID

import pytest
import rfc8785
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from choir.foundation.errors import Refusal
from choir.ledger import holds, queries
from choir.ledger.model import Draft, HoldTerms, HoldUse, Leg, Posted
from choir.storage.database import Database
from tests.depth import times
from tests.ledger.books import Books

EXAMPLES = int(os.environ.get("CHOIR_TEST_MODEL_EXAMPLES", times(24, 200)))
MOST = 2**63 - 1
SECOND = 1_000_000


class No(Exception):
    """The model's refusal: nothing but a code."""


@dataclass
class Pot:
    asset: str
    overdraft: bool
    state: str = "open"
    balance: int = 0


@dataclass
class Escrow:
    payer: str
    pot: str
    expires_us: int
    captures_max: int
    captures: int = 0


@dataclass
class Model:
    """What a ledger is, in numbers."""

    pots: dict[str, Pot] = field(default_factory=dict)
    escrows: dict[UUID, Escrow] = field(default_factory=dict)
    accepted: dict[tuple[str, str], tuple[Draft, int]] = field(default_factory=dict)  # request and number
    contents: dict[int, dict[str, Any]] = field(default_factory=dict)
    seq: int = 0
    at_us: int = 0  # of the last entry or act

    def batch(self, groups: Sequence[Sequence[Draft]], now_us: int) -> list[str | int]:
        """For each draft the code of its refusal, or the number of its entry (below zero: from before)."""
        at_us = max(now_us, self.at_us)
        answers: list[str | int] = []
        for group in groups:
            answers += self._group(group, at_us)
        return answers

    def _group(self, group: Sequence[Draft], at_us: int) -> list[str | int]:
        before = copy.deepcopy(self.__dict__)
        answers: list[str | int] = []
        for draft in group:
            try:
                answers.append(self._one(draft, at_us))
            except No as no:
                self.__dict__ = before
                return ["ledger.linked_refused" if n != len(answers) else str(no) for n in range(len(group))]
        old = [n for n, answer in enumerate(answers) if isinstance(answer, int) and answer < 0]
        if old and len(old) < len(group):
            self.__dict__ = before
            return ["ledger.linked_refused" if n != old[0] else "ledger.conflicting_key" for n in range(len(group))]
        return answers

    def _one(self, draft: Draft, at_us: int) -> int:
        for leg in draft.legs:
            self._check_form(leg)
        if (draft.source, draft.key) in self.accepted:
            request, seq = self.accepted[draft.source, draft.key]
            if request != draft:
                raise No("ledger.conflicting_key")
            return -seq
        legs = [(leg.from_, leg.to, leg.amount, False) for leg in draft.legs]
        if isinstance(draft.hold, HoldTerms):
            self._place(draft, draft.hold, at_us)
        elif isinstance(draft.hold, HoldUse):
            legs += self._use(draft, draft.hold, at_us)
        self._move(legs)
        self.seq, self.at_us = self.seq + 1, at_us
        self.accepted[draft.source, draft.key] = (draft, self.seq)
        self.contents[self.seq] = content_of(draft, legs)
        return self.seq

    @staticmethod
    def _check_form(leg: Leg) -> None:
        if not 0 < leg.amount <= MOST:
            raise No("money.out_of_range")
        if leg.from_.split("/")[2] != leg.to.split("/")[2]:
            raise No("ledger.asset_mismatch")
        if leg.from_ == leg.to:
            raise No("ledger.entry.invalid")

    def _place(self, draft: Draft, terms: HoldTerms, at_us: int) -> None:
        if terms.expires_us <= at_us:
            raise No("ledger.entry.invalid")
        leg = draft.legs[0]
        self.pots[leg.to] = Pot(leg.to.split("/")[2], overdraft=False)
        self.escrows[terms.id] = Escrow(leg.from_, leg.to, terms.expires_us, terms.captures)

    def _use(self, draft: Draft, use: HoldUse, at_us: int) -> list[tuple[str, str, int, bool]]:
        """The legs that go back to the payer."""
        if use.id not in self.escrows:
            raise No("ledger.hold.unknown")
        escrow = self.escrows[use.id]
        there = self.pots[escrow.pot].balance
        if there == 0:
            raise No("ledger.hold.closed")
        if draft.kind == "hold.release" or (draft.kind == "hold.expire" and at_us >= escrow.expires_us):
            return [(escrow.pot, escrow.payer, there, True)]
        if draft.kind == "hold.expire":
            raise No("ledger.hold.not_expired")
        if at_us >= escrow.expires_us:
            raise No("ledger.hold.expired")
        if any(leg.from_ != escrow.pot for leg in draft.legs):
            raise No("ledger.entry.invalid")
        rest = there - sum(leg.amount for leg in draft.legs)
        if rest < 0:
            raise No("ledger.insufficient_funds")
        escrow.captures += 1
        if escrow.captures == escrow.captures_max and not use.final and rest:
            raise No("ledger.entry.invalid")
        return [(escrow.pot, escrow.payer, rest, True)] if use.final and rest else []

    def _move(self, legs: list[tuple[str, str, int, bool]]) -> None:
        too_much = False
        for from_, to, amount, rest in legs:
            for name in (from_, to):
                if name not in self.pots:
                    raise No("ledger.account.unknown")
            for name in (from_, to):
                if self.pots[name].state == "closed":
                    raise No("ledger.account.closed")
                if self.pots[name].state == "frozen" and not rest:
                    raise No("ledger.account.frozen")
            self.pots[from_].balance -= amount
            self.pots[to].balance += amount
            too_much |= self.pots[to].balance > MOST or self.pots[from_].balance < -MOST
        if any(self.pots[leg[0]].balance < 0 and not self.pots[leg[0]].overdraft for leg in legs):
            raise No("ledger.insufficient_funds")
        if too_much:
            raise No("ledger.balance_out_of_range")

    def act(self, act: str, name: str, now_us: int) -> None:
        before, after = {"freeze": ("open", "frozen"), "unfreeze": ("frozen", "open"), "close": ("open", "closed")}[act]
        if name not in self.pots:
            raise No("ledger.account.unknown")
        if self.pots[name].state != before:
            raise No("ledger.account.wrong_state")
        waiting = any(one.payer == name and self.pots[one.pot].balance for one in self.escrows.values())
        if act == "close" and (self.pots[name].balance or waiting):
            raise No("ledger.account.in_use")
        self.pots[name].state = after
        self.at_us = max(now_us, self.at_us)

    def open(self, name: str, now_us: int) -> bool:
        if name in self.pots:
            return False
        _, role, asset = name.split("/")
        self.pots[name] = Pot(asset, overdraft=role in ("issuance", "external"))
        self.at_us = max(now_us, self.at_us)
        return True


def content_of(draft: Draft, legs: list[tuple[str, str, int, bool]]) -> dict[str, Any]:
    """The hashed part of an entry, by the words of the specification."""
    content: dict[str, Any] = {
        "kind": draft.kind,
        "reason": draft.reason,
        "source": draft.source,
        "key": draft.key,
        "legs": [
            {"amount": str(amount), "from": from_, "to": to} | ({"rest": True} if rest else {})
            for from_, to, amount, rest in legs
        ],
    }
    if draft.refs:
        content["refs"] = list(draft.refs)
    if isinstance(draft.hold, HoldTerms):
        terms = draft.hold
        content["hold"] = {"id": str(terms.id), "expires_us": terms.expires_us, "captures": terms.captures}
    elif isinstance(draft.hold, HoldUse):
        final = {"final": draft.hold.final} if draft.kind == "hold.capture" else {}
        content["hold"] = {"id": str(draft.hold.id)} | final
    return content


def hash_of(prev: bytes, posted: Posted, content: dict[str, Any]) -> bytes:
    parts = (
        b"choir-entry-v1",
        prev,
        posted.seq.to_bytes(8, "big"),
        posted.at_us.to_bytes(8, "big"),
        posted.id_bytes,
        hashlib.sha256(rfc8785.dumps(content)).digest(),
    )
    return hashlib.sha256(b"".join(parts)).digest()


amounts = st.integers(1, 40) | st.sampled_from([0, -1, MOST, MOST - 20, 2**63, 100, 1000])
places = st.integers(0, 7)


class LedgerAndModel(RuleBasedStateMachine):
    """One history. Accounts carry the history's number, so that one database serves all of them."""

    books: ClassVar[Books]
    numbers: ClassVar[itertools.count[int]] = itertools.count()

    @initialize()
    def start(self) -> None:
        self.n = next(self.numbers)
        self.model = Model()
        with self.books.tx() as tx:
            head = queries.head(tx)
        self.prev, self.model.seq, self.model.at_us = head.hash, head.seq, head.at_us
        self.books.clock.at_us = head.at_us + SECOND
        self.sent: list[Draft] = []
        self.keys = itertools.count()
        names = [
            f"system:x{self.n}/issuance/CREDIT",
            f"person:a{self.n}/available/CREDIT",
            f"person:b{self.n}/available/CREDIT",
            f"person:c{self.n}/stake/CREDIT",
            f"world:x{self.n}/external/SAT",
            f"person:a{self.n}/available/SAT",
            f"person:b{self.n}/available/SAT",
        ]
        self.names = [*names, f"person:late{self.n}/available/CREDIT"]  # the last one is not open yet
        self.open(names)
        self.send([[self.draft(Leg(names[0], name, 100))] for name in names[1:4]], shared=False)
        self.send([[self.draft(Leg(names[4], name, 100))] for name in names[5:7]], shared=True)

    def draft(self, *legs: Leg) -> Draft:
        return Draft("transfer", "because", f"history {self.n}", f"k{next(self.keys)}", legs)

    def open(self, names: Sequence[str]) -> None:
        with self.books.tx() as tx:
            opened = self.books.accounts.open(tx, names, reason="a test", source="test")
        assert opened == [name for name in names if self.model.open(name, self.books.clock.at_us)]

    @rule(seconds=st.sampled_from([0.0, 0.000001, 1.0, 4.999999, 5.0, -3.0]))
    def time_passes(self, seconds: float) -> None:
        self.books.clock.advance(seconds)

    @precondition(lambda self: self.model.escrows)
    @rule(data=st.data(), microseconds=st.sampled_from([-1, 0, 1]), shared=st.booleans())
    def a_hold_is_used_about_when_it_expires(self, data: st.DataObject, microseconds: int, *, shared: bool) -> None:
        escrows = [one for one in self.model.escrows.values() if one.expires_us > self.model.at_us + 1]
        if escrows:
            expires_us = data.draw(st.sampled_from(escrows), label="expires").expires_us
            self.books.clock.at_us = expires_us + microseconds
        self.send([[self.hold_use(data)] for _ in range(2)], shared=shared)

    @rule()
    def open_the_late_account(self) -> None:
        self.open([self.names[-1], self.names[1]])

    @rule(act=st.sampled_from(["freeze", "unfreeze", "unfreeze", "close"]), place=places)
    def act(self, act: str, place: int) -> None:
        name = self.names[place]
        expected = found = "done"
        try:
            self.model.act(act, name, self.books.clock.at_us)
        except No as no:
            expected = str(no)
        try:
            self.books.change(act, name)
        except Refusal as refusal:
            found = refusal.code
        assert found == expected, (act, name)

    @rule(data=st.data(), shared=st.booleans())
    def post(self, data: st.DataObject, *, shared: bool) -> None:
        self.making: list[Draft] = []
        groups: list[list[Draft]] = []
        for _ in range(data.draw(st.integers(1, 4), label="groups")):
            groups.append([])
            for _ in range(data.draw(st.sampled_from([1, 1, 1, 2, 3]), label="linked")):
                groups[-1].append(self.some_draft(data))
                self.making.append(groups[-1][-1])
        self.send(groups, shared=shared)

    @precondition(lambda self: self.model.escrows)
    @rule(data=st.data(), shared=st.booleans())
    def use_a_hold(self, data: st.DataObject, *, shared: bool) -> None:
        self.send([[self.hold_use(data)] for _ in range(data.draw(st.integers(1, 3)))], shared=shared)

    def some_draft(self, data: st.DataObject) -> Draft:
        choice = data.draw(
            st.sampled_from(["move", "move", "move", "place", "use", "again", "changed", "twice"]), label="what"
        )
        if choice == "place":
            return self.hold_placed(data)
        if choice == "use":
            return self.hold_use(data)
        if choice in ("again", "changed"):
            old = data.draw(st.sampled_from(self.sent), label="old")
            return old if choice == "again" else replace(old, reason="another reason")
        if choice == "twice" and self.making:
            return data.draw(st.sampled_from(self.making), label="of this batch")
        count = data.draw(st.sampled_from([1, 1, 2, 3]), label="legs")
        refs = data.draw(st.sampled_from([(), ("job_1", "é\x01")]), label="refs")
        return replace(self.draft(*[self.leg(data) for _ in range(count)]), refs=refs)

    def leg(self, data: st.DataObject) -> Leg:
        """Mostly of one asset."""
        half = data.draw(st.sampled_from([(0, 1, 2, 3, 7), (4, 5, 6), tuple(range(8))]), label="asset")
        from_, to = data.draw(st.sampled_from(half), label="from"), data.draw(st.sampled_from(half), label="to")
        return Leg(self.names[from_], self.names[to], data.draw(amounts, label="amount"))

    def hold_placed(self, data: st.DataObject) -> Draft:
        return holds.place(
            self.names[data.draw(places, label="payer")],
            data.draw(st.integers(1, 60), label="held"),
            expires_us=self.books.clock.at_us + data.draw(st.sampled_from([0, 1, SECOND, 5 * SECOND, 50 * SECOND])),
            captures=data.draw(st.integers(1, 3), label="captures"),
            reason="a job",
            source=f"history {self.n}",
            key=f"k{next(self.keys)}",
        )

    def hold_use(self, data: st.DataObject) -> Draft:
        unknown = UUID(int=self.n + 1)
        id_ = data.draw(st.sampled_from([*self.model.escrows, unknown]), label="hold")
        escrow = self.model.escrows.get(id_)
        source, key = f"history {self.n}", f"k{next(self.keys)}"
        what = data.draw(st.sampled_from(["capture", "capture", "capture", "release", "expire"]), label="use")
        if what == "release":
            return holds.release(id_, reason="a job", source=source, key=key)
        if what == "expire":
            return holds.expire(id_)
        pot = escrow.pot if escrow else f"hold:{id_}/escrow/CREDIT"
        payees = [name for name in self.names if name.endswith(pot.split("/")[2])]
        wrong = data.draw(st.integers(0, 9), label="wrong") == 0
        legs = tuple(
            Leg(self.names[1] if wrong else pot, data.draw(st.sampled_from(payees)), data.draw(st.integers(1, 30)))
            for _ in range(data.draw(st.integers(1, 2)))
        )
        return holds.capture(
            id_, legs, final=data.draw(st.booleans(), label="final"), reason="a job", source=source, key=key
        )

    def send(self, groups: list[list[Draft]], *, shared: bool) -> None:
        """Post through a shared commit or a transaction of its own; both sides must say the same."""
        first = self.model.seq
        expected = self.model.batch(groups, self.books.clock.at_us)
        outcomes = self.books.submitter.submit_batch(groups) if shared else self.books.batch(groups)
        found = [one.code if isinstance(one, Refusal) else -one.seq if one.again else one.seq for one in outcomes]
        assert found == expected, groups
        self.sent += [draft for group in groups for draft in group]
        for one in outcomes:
            if isinstance(one, Posted) and not one.again:
                assert one.at_us == self.model.at_us
                self.prev = hash_of(self.prev, one, self.model.contents[one.seq])
                assert one.hash == self.prev
        assert len({answer for answer in found if isinstance(answer, int) and answer > 0}) == self.model.seq - first
        self.agree()

    def agree(self) -> None:
        with self.books.tx() as tx:
            for name, pot in self.model.pots.items():
                account = queries.balance(tx, name)
                assert (account.state, account.balance) == (pot.state, pot.balance), name
            for id_, escrow in self.model.escrows.items():
                hold = queries.hold(tx, id_)
                there = self.model.pots[escrow.pot].balance
                assert (hold.payer, hold.account, hold.expires_us) == (escrow.payer, escrow.pot, escrow.expires_us)
                assert (hold.captures_max, hold.captures) == (escrow.captures_max, escrow.captures)
                assert (hold.remaining, hold.closed) == (there, there == 0)
            head = queries.head(tx)
        assert (head.seq, head.hash, head.at_us) == (self.model.seq, self.prev, self.model.at_us)
        for asset in ("CREDIT", "SAT"):
            assert sum(pot.balance for pot in self.model.pots.values() if pot.asset == asset) == 0


@pytest.mark.scaled
def test_the_ledger_does_what_a_simple_model_of_it_does(database: Database) -> None:
    LedgerAndModel.books = books = Books(database).sign_from_now()
    run_state_machine_as_test(
        LedgerAndModel,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    books.check()
    books.close()
