"""Money comes into being once, word for word as proposed, and never by one operator alone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from psycopg.errors import InsufficientPrivilege

from choir.foundation.canonical import parse_object_hash
from choir.foundation.clock import SeededEntropy
from choir.foundation.errors import ChoirError, Refusal
from choir.foundation.ids import LAST_ID
from choir.ledger import queries
from choir.ledger.explanation import explain_entry
from choir.ledger.issuances import rules, store
from choir.ledger.issuances.model import Issuance, IssuanceState, issuance_id
from choir.ledger.issuances.service import Issuances
from choir.ledger.model import Leg
from choir.ledger.policy import IssuingPolicy
from tests.ledger.books import ALICE, ALICE_SAT, BOB, ISSUANCE, SAT_WORLD, Books, moved

ADA, GRACE, EDITH = "operator", "operator:grace", "operator:edith"
POLICY = parse_object_hash("sha256:" + "ab" * 32)
LEGS = (Leg(ISSUANCE, ALICE, 500), Leg(ISSUANCE, BOB, 20))


class Office:
    """The operators of some books."""

    def __init__(self, books: Books, policy: IssuingPolicy | None = None) -> None:
        self.books = books
        self.policy = policy or IssuingPolicy()
        self.issuances = self.under(self.policy)
        self.removed: set[str] = set()
        self.added_us: dict[str, int] = {}  # those who were added after the first day

    def under(self, policy: IssuingPolicy) -> Issuances:
        books = self.books
        return Issuances(books.ledger, books.accounts, books.clock, SeededEntropy(5), policy, policy_hash=POLICY)

    def since(self, name: str) -> int | None:
        return None if name in self.removed else self.added_us.get(name, 0)

    def replace_by_namesake(self, name: str) -> None:
        """Somebody is removed, and later somebody else gets their name."""
        self.books.clock.advance(1)
        self.added_us[name] = self.books.clock.now_us()
        self.books.clock.advance(1)

    def propose(self, *legs: Leg, who: str = ADA, key: str = "k", reason: str = "an invoice") -> Issuance:
        with self.books.tx() as tx:
            return self.issuances.propose(tx, who, legs or LEGS, reason=reason, key=key)[0]

    def approve(self, issuance: Issuance, who: str = GRACE) -> Issuance:
        with self.books.tx() as tx:
            return self.issuances.approve(tx, who, issuance.id, self.since)

    def withdraw(self, issuance: Issuance, who: str = GRACE) -> Issuance:
        with self.books.tx() as tx:
            return self.issuances.withdraw(tx, who, issuance.id)

    def state(self, issuance: Issuance) -> IssuanceState:
        with self.books.tx() as tx:
            return self.issuances.state(self.issuances.get(tx, issuance.id))

    def content(self, issuance: Issuance) -> dict[str, Any]:
        """Of the entry that was posted."""
        with self.books.tx() as tx:
            assert issuance.entry is not None
            return queries.entry(tx, issuance.entry).content

    @property
    def entries(self) -> int:
        with self.books.tx() as tx:
            return queries.head(tx).seq


@pytest.fixture
def office(books: Books) -> Office:
    return Office(books)


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as caught:
        work()
    return caught.value.code


def test_what_one_proposes_and_another_approves_is_posted_and_names_both(office: Office) -> None:
    proposed = office.propose()
    assert (office.entries, office.state(proposed)) == (0, IssuanceState.OPEN)
    posted = office.approve(proposed)
    assert office.state(posted) is IssuanceState.POSTED
    assert (office.books.balance(ALICE), office.books.balance(BOB), office.books.balance(ISSUANCE)) == (500, 20, -520)
    content = office.content(posted)
    assert (content["kind"], content["reason"], content["source"]) == ("issue", "an invoice", "system:issuing")
    assert content["refs"] == [issuance_id(proposed.id), f"proposed_by:{ADA}", f"approved_by:{GRACE}"]
    assert content["policy"] == POLICY  # which says how many must agree
    office.books.check()


def test_nobody_approves_what_they_proposed(office: Office) -> None:
    for who in (ADA, GRACE):
        proposed = office.propose(who=who)
        assert refused(lambda p=proposed, w=who: office.approve(p, w)) == "ledger.issuance.needs_another"  # type: ignore[misc]
    assert office.entries == 0


def test_every_step_can_be_repeated_and_has_one_effect(office: Office) -> None:
    proposed = office.propose()
    assert office.propose() == proposed
    first, again = office.approve(proposed), office.approve(proposed)
    assert first == again
    assert office.entries == 1
    assert office.propose().entry == first.entry
    assert refused(lambda: office.approve(proposed, EDITH)) == "ledger.issuance.posted"
    assert refused(lambda: office.withdraw(proposed)) == "ledger.issuance.posted"
    assert refused(lambda: office.propose(Leg(ISSUANCE, ALICE, 1))) == "ledger.conflicting_key"
    assert refused(lambda: office.propose(reason="another")) == "ledger.conflicting_key"
    assert office.propose(who=GRACE).id != proposed.id  # keys belong to whoever uses them


def test_what_is_withdrawn_stays_so(office: Office) -> None:
    proposed = office.propose()
    assert office.withdraw(proposed) == office.withdraw(proposed)
    assert office.state(proposed) is IssuanceState.WITHDRAWN
    assert refused(lambda: office.approve(proposed)) == "ledger.issuance.ended"
    assert office.entries == 0


def test_what_nobody_approves_in_time_is_over(office: Office) -> None:
    proposed = office.propose()
    office.books.clock.advance(office.policy.proposal_s)
    assert office.state(proposed) is IssuanceState.EXPIRED
    for step in (office.approve, office.withdraw):
        assert refused(lambda s=step: s(proposed)) == "ledger.issuance.ended"  # type: ignore[misc]
    assert office.entries == 0


def test_policy_says_how_many_must_agree(books: Books) -> None:
    office = Office(books, IssuingPolicy(credit_operators=3))
    proposed = office.propose()
    assert office.state(office.approve(proposed, GRACE)) is IssuanceState.OPEN
    assert office.state(office.approve(proposed, GRACE)) is IssuanceState.OPEN  # the same one again is still one
    assert office.state(office.approve(proposed, EDITH)) is IssuanceState.POSTED
    assert office.entries == 1


def test_whoever_is_no_operator_any_more_has_no_voice(office: Office) -> None:
    proposed = office.propose(who=EDITH)
    office.removed.add(EDITH)
    assert office.state(office.approve(proposed, GRACE)) is IssuanceState.OPEN
    assert office.entries == 0
    assert office.state(office.approve(proposed, ADA)) is IssuanceState.POSTED
    assert office.entries == 1


def test_what_somebody_agreed_to_is_not_agreed_to_by_who_has_their_name_later(books: Books) -> None:
    office = Office(books, IssuingPolicy(credit_operators=3))
    proposed = office.approve(office.propose(), GRACE)
    office.replace_by_namesake(GRACE)
    assert rules.agreed(proposed, office.since) == (ADA,)
    assert office.state(office.approve(proposed, EDITH)) is IssuanceState.OPEN
    again = office.approve(proposed, GRACE)  # she speaks for herself
    assert office.state(again) is IssuanceState.POSTED
    assert [each.operator for each in again.approvals] == [ADA, GRACE, EDITH, GRACE]
    refs = [f"proposed_by:{ADA}", f"approved_by:{EDITH}", f"approved_by:{GRACE}"]
    assert sorted(office.content(again)["refs"][1:]) == sorted(refs)
    assert office.approve(proposed, GRACE) == again
    assert office.entries == 1
    books.check()


def test_what_somebody_proposed_is_not_agreed_to_by_who_has_their_name_later(office: Office) -> None:
    proposed = office.propose(who=EDITH)
    office.replace_by_namesake(EDITH)
    assert office.state(office.approve(proposed, GRACE)) is IssuanceState.OPEN
    assert refused(lambda: office.approve(proposed, EDITH)) == "ledger.issuance.needs_another"
    posted = office.approve(proposed, ADA)
    assert office.content(posted)["refs"][1:] == [f"proposed_by:{EDITH}", f"approved_by:{GRACE}", f"approved_by:{ADA}"]


def test_an_entry_names_those_who_count(office: Office) -> None:
    office.issuances = office.under(IssuingPolicy(credit_operators=3))
    proposed = office.propose()
    office.approve(proposed, GRACE)
    office.removed.add(GRACE)
    office.approve(proposed, EDITH)
    office.issuances = office.under(IssuingPolicy())
    posted = office.approve(proposed, EDITH)
    assert office.content(posted)["refs"][1:] == [f"proposed_by:{ADA}", f"approved_by:{EDITH}"]


def test_an_entry_says_who_proposed_and_approved_it(office: Office) -> None:
    posted = office.approve(office.propose())
    with office.books.tx() as tx:
        assert posted.entry is not None
        told = explain_entry(tx, posted.entry).sentences
    assert f"It was proposed by {ADA} and approved by {GRACE}." in told


def test_one_is_never_enough_whatever_policy_says() -> None:
    assert rules.operators_needed(LEGS, IssuingPolicy(credit_operators=1)) == 2
    both = (Leg(ISSUANCE, ALICE, 1), Leg(SAT_WORLD, ALICE_SAT, 1))
    assert rules.operators_needed(both, IssuingPolicy(sat_operators=4)) == 4


def test_what_policy_forbids_is_not_posted_even_if_it_was_proposed_before(office: Office) -> None:
    proposed = office.propose()
    office.issuances = office.under(replace(office.policy, credit_operators=0))
    assert office.issuances.operators_needed(proposed) == 0
    assert refused(lambda: office.approve(proposed)) == "ledger.issuance.not_by_operators"
    assert refused(lambda: office.propose(key="k2")) == "ledger.issuance.not_by_operators"
    assert office.entries == 0


@pytest.mark.parametrize(
    ("leg", "code"),
    [
        (Leg(ALICE, BOB, 1), "ledger.issuance.other_payer"),
        (Leg(ISSUANCE, "system:node/issuance/CREDIT", 1), "ledger.issuance.other_payer"),
        (Leg("system:node/issuance/CHIP", "person:alice/available/CHIP", 1), "ledger.issuance.not_by_operators"),
        (Leg(ISSUANCE, "person:nobody/available/CREDIT", 1), "ledger.account.unknown"),
        (Leg(ISSUANCE, ALICE_SAT, 1), "ledger.asset_mismatch"),
        (Leg(ISSUANCE, ALICE, 0), "money.out_of_range"),
        (Leg("nonsense", ALICE, 1), "ledger.account.bad_name"),
    ],
)
def test_what_cannot_be_posted_is_not_even_proposed(office: Office, leg: Leg, code: str) -> None:
    assert refused(lambda: office.propose(leg)) == code
    with office.books.tx() as tx:
        assert office.issuances.newest(tx, before=None, limit=10) == []


def test_what_the_ledger_would_refuse_today_is_not_even_proposed(office: Office) -> None:
    office.approve(office.propose(Leg(ISSUANCE, ALICE, 2**63 - 1)))
    office.books.change("freeze", BOB)
    entries = office.entries
    assert refused(lambda: office.propose(Leg(ISSUANCE, ALICE, 1), key="too much")) == "ledger.balance_out_of_range"
    assert refused(lambda: office.propose(Leg(ISSUANCE, BOB, 1), key="frozen")) == "ledger.account.frozen"
    assert office.entries == entries  # trying it out leaves nothing
    office.books.check()


def test_where_the_money_comes_from_is_opened_with_the_proposal(office: Office) -> None:
    mint = "system:node/issuance/CREDIT"
    office.approve(office.propose(Leg(mint, ALICE, 7)))
    assert (office.books.balance(mint), office.books.balance(ALICE)) == (-7, 7)
    office.books.check()


def test_what_the_ledger_refuses_leaves_it_open(office: Office) -> None:
    proposed = office.propose()
    office.books.change("freeze", ALICE)
    assert refused(lambda: office.approve(proposed)) == "ledger.account.frozen"
    assert office.state(proposed) is IssuanceState.OPEN
    with office.books.tx() as tx:
        assert len(office.issuances.get(tx, proposed.id).approvals) == 1  # the approval that failed is not kept either
    office.books.change("unfreeze", ALICE)
    assert office.state(office.approve(proposed)) is IssuanceState.POSTED
    office.books.check()


def test_a_crash_between_the_entry_and_the_end_leaves_neither(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    proposed = office.propose()
    end = store.end

    def crash(*args: object, **named: object) -> None:
        raise RuntimeError("the machine is gone")

    monkeypatch.setattr(store, "end", crash)
    with pytest.raises(RuntimeError):
        office.approve(proposed)
    monkeypatch.setattr(store, "end", end)
    assert (office.entries, office.state(proposed)) == (0, IssuanceState.OPEN)
    office.approve(proposed)
    assert office.entries == 1
    office.books.check()


def test_all_who_approve_and_withdraw_at_once_leave_one_end(office: Office) -> None:
    for n in range(5):
        proposed = office.propose(Leg(ISSUANCE, ALICE, 10), key=f"{n}")
        before = office.books.balance(ALICE)

        def act(turn: int, proposed: Issuance = proposed) -> Issuance | ChoirError:
            try:
                step = office.withdraw if turn % 4 == 3 else office.approve
                return step(proposed, f"operator:o{turn}")
            except Refusal as refusal:
                return refusal

        with ThreadPoolExecutor(8) as pool:
            ended = [each for each in pool.map(act, range(8)) if isinstance(each, Issuance)]
        posted = office.state(proposed) is IssuanceState.POSTED
        assert ended
        assert office.books.balance(ALICE) == before + 10 * posted
    office.books.check()


def test_no_more_wait_than_policy_allows(books: Books) -> None:
    office = Office(books, IssuingPolicy(open_max=3))
    waiting = [office.propose(key=f"{n}") for n in range(3)]
    assert refused(lambda: office.propose(key="one more")) == "ledger.issuance.too_many"
    office.withdraw(waiting[0])
    office.propose(key="one more")


def test_pages_go_from_the_newest_to_the_oldest(office: Office) -> None:
    ids = []
    for n in range(5):
        ids.append(office.propose(key=f"{n}").id)
        office.books.clock.advance(1)
    assert listed(office, office.issuances.newest) == ids[::-1]
    assert listed(office, office.issuances.newest_open) == ids[::-1]


def listed(office: Office, page_of: Callable[..., list[Issuance]]) -> list[UUID]:
    found: list[UUID] = []
    before: UUID | None = None
    while True:
        with office.books.tx() as tx:
            page = page_of(tx, before=before, limit=2)
        if not page:
            return found
        found += [item.id for item in page]
        before = found[-1]


def test_only_those_that_wait_are_listed_as_open(office: Office) -> None:
    expired = office.propose(key="old").id
    office.books.clock.advance(office.policy.proposal_s)
    posted = office.approve(office.propose(key="posted")).id
    office.books.clock.advance(1)
    withdrawn = office.withdraw(office.propose(key="withdrawn")).id
    office.books.clock.advance(1)
    waiting = []
    for n in range(3):
        waiting.append(office.propose(key=f"{n}").id)
        office.books.clock.advance(1)
    assert listed(office, office.issuances.newest_open) == waiting[::-1]
    assert listed(office, office.issuances.newest) == [*waiting[::-1], withdrawn, posted, expired]


def test_listings_are_served_by_an_index_however_they_begin(office: Office) -> None:
    """As every statement of the node is planned: once, for all values."""
    for sql, asked, index in (
        (store.NEWEST, [LAST_ID, 2], "issuances_pkey"),
        (store.NEWEST_OPEN, [0, LAST_ID, 2], "issuances_open"),
    ):
        with office.books.tx() as tx:
            tx.run("set local plan_cache_mode = force_generic_plan")
            tx.run("set local enable_seqscan = off")  # a scan of a few rows is cheapest; asked is what can be done
            types = ", ".join("uuid" if value is LAST_ID else "bigint" for value in asked)
            numbered = sql
            for n in range(1, len(asked) + 1):
                numbered = numbered.replace("%s", f"${n}", 1)
            tx.run(f"prepare listing ({types}) as {numbered}")
            values = ", ".join(f"'{value}'" for value in asked)
            plan = "\n".join(row[0] for row in tx.rows(f"explain execute listing ({values})"))
            tx.run("deallocate listing")
        assert "Seq Scan" not in plan
        conditions = [line for line in plan.splitlines() if "Index Cond" in line]
        assert index in plan
        assert conditions, plan


def test_what_was_proposed_cannot_be_changed_by_the_application(office: Office) -> None:
    proposed = office.propose()
    for column, value in (("legs", "[]"), ("proposer", GRACE), ("reason", "x"), ("expires_us", 1)):
        with pytest.raises(InsufficientPrivilege), office.books.tx() as tx:
            tx.run(f"update issuances set {column} = %s where id = %s", value, proposed.id)
    with pytest.raises(InsufficientPrivilege), office.books.tx() as tx:
        tx.run("delete from issuance_approvals")
    assert office.state(office.approve(proposed)) is IssuanceState.POSTED


def test_its_key_is_nobody_elses(office: Office) -> None:
    """Entries of the same key by an operator's own source do not stand in its way."""
    proposed = office.propose()
    office.books.fund(ALICE, 3)
    office.books.post(moved(issuance_id(proposed.id), ALICE, BOB, 1))
    assert office.state(office.approve(proposed)) is IssuanceState.POSTED
