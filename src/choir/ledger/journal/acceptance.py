"""Which entries the ledger accepts, given what the database knew: pure, data in, data out.

`decide` goes over a batch in order and says for each draft accepted or refused, with the rows to write. It
does no I/O and its work is bounded by the size of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from choir.foundation.clock import format_time
from choir.foundation.errors import Refusal
from choir.foundation.money import AMOUNT_MAX
from choir.ledger.journal import links
from choir.ledger.journal.records import Decision, EntryRow, HoldState, PostingRow, View
from choir.ledger.model import (
    HOLD_CAPTURE,
    HOLD_EXPIRE,
    AccountClosed,
    AccountFrozen,
    BadEntry,
    BalanceOutOfRange,
    ConflictingKey,
    Draft,
    HoldClosed,
    HoldExpired,
    HoldNotExpired,
    HoldTerms,
    HoldUse,
    InsufficientFunds,
    Leg,
    LinkedRefused,
    Posted,
    UnknownAccount,
    UnknownEntry,
    UnknownHold,
    account_name,
    entry_id,
    hold_id,
)
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Outcome, Prepared, check_hold_length, complete, same_request

_SETTLED_AT_ONCE = 500  # groups; most have two postings
_CHAINED_AT_ONCE = 1000  # entries; a COPY stores its rows by the thousand
_NOBODY = -1  # no account has this id


class _Again(NamedTuple):
    """The outcome of a draft whose entry stands earlier in the same batch."""

    place: int


_Settled = Refusal | Posted | _Again | int  # a number is a place among what was accepted


def decide(
    groups: Sequence[Sequence[Prepared | Refusal]], view: View, now_us: int, random: bytes, policy: LedgerPolicy
) -> Decision:
    """Accept or refuse each draft in order; a group stands or falls together."""
    round_ = Round(groups, view, now_us, random, policy)
    for _ in chain(round_.settle(), round_.chain()):
        pass
    return round_.finish()


def refusals(groups: Sequence[Sequence[Prepared | Refusal]]) -> list[Outcome] | None:
    """The outcomes where no draft is valid, so that nothing has to be known: a group's first refusal stands for all."""
    outcomes: list[Outcome] = []
    for group in groups:
        for index, item in enumerate(group):
            if isinstance(item, Prepared):
                return None
            outcomes.append(item if index == 0 else LinkedRefused())
    return outcomes


class Round:
    """One pass over a batch: it is settled, which is who pays whom, then chained, then finished.

    Rows come bit by bit, so that the first can be written while the next are made; those that were given out stay
    as they are. Every change is noted, so that a refused group leaves no trace.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Prepared | Refusal]],
        view: View,
        now_us: int,
        random: bytes,
        policy: LedgerPolicy,
    ) -> None:
        self.view = view
        self._policy = policy
        self._groups = groups
        self._random = random
        self._at_us = max(now_us, view.head.at_us)
        self._decision = Decision(at_us=self._at_us, head_hash=view.head.hash)
        self._accepted: list[Prepared] = []
        self._settled: list[_Settled] = []  # for each draft
        self._repeats = _repeats(groups)
        self._places: dict[tuple[str, str], int] = {}  # of keys among what was accepted, where keys repeat themselves
        self._hold_log: list[tuple[UUID, HoldState | None]] = []  # what a hold was before each change

    def settle(self) -> Iterator[list[PostingRow]]:
        """Judge the batch from its beginning to its end: the postings, bit by bit."""
        postings = self._decision.postings
        for start in range(0, len(self._groups), _SETTLED_AT_ONCE):
            before = len(postings)
            self._settle(self._groups[start : start + _SETTLED_AT_ONCE])
            yield postings[before:]

    def chain(self) -> Iterator[list[EntryRow]]:
        """When everything is settled: the entries, bit by bit."""
        decision, entries = self._decision, self._decision.entries
        for start in range(0, len(self._accepted), _CHAINED_AT_ONCE):
            items = self._accepted[start : start + _CHAINED_AT_ONCE]
            random = self._random[start * links.ID_RANDOM_BYTES :]
            rows = links.chained(items, self.view.head.seq + start, decision.head_hash, self._at_us, random)
            decision.head_hash = rows[-1][-1]
            entries += rows
            yield rows

    def finish(self) -> Decision:
        """All of it, when everything is settled and chained."""
        decision = self._decision
        posted = [Posted(seq, id_, at_us, hash_) for seq, id_, at_us, _, _, _, hash_ in decision.entries]
        if len(posted) == len(self._settled):
            decision.outcomes += posted
        else:
            decision.outcomes = [_outcome(settled, posted) for settled in self._settled]
            decision.refused = any(isinstance(outcome, Refusal) for outcome in decision.outcomes)
        new = {hold.id for hold in decision.new_holds}
        decision.new_holds = [self.view.holds[id_] for id_ in new]
        decision.changed_holds = [hold for hold in self.view.holds.values() if hold.changed and hold.id not in new]
        return decision

    def _settle(self, groups: Sequence[Sequence[Prepared | Refusal]]) -> None:
        """Judge these groups in order.

        A transfer between open accounts that have the money and the room for it is accepted right here, because the
        batch waits for this loop; everything else takes the long way, which knows how to refuse.
        """
        view, accepted, settled = self.view, self._accepted, self._settled
        ids, balances, postings = view.ids, view.balances, self._decision.postings
        simple = not (view.known or view.states or self._repeats)
        for group in groups:
            if len(group) != 1:
                settled += self._linked(group)
                continue
            item = group[0]
            if simple and isinstance(item, Prepared) and item.transfer is not None:
                from_, to, amount, _ = item.transfer
                payer, payee = ids.get(from_, _NOBODY), ids.get(to, _NOBODY)
                paid = balances.get(payer, -1) - amount
                received = balances.get(payee, AMOUNT_MAX) + amount
                if paid >= 0 and received <= AMOUNT_MAX:
                    balances[payer], balances[payee] = paid, received
                    place = len(accepted)
                    seq = view.head.seq + place + 1
                    postings += ((payer, seq, 0, -amount, paid), (payee, seq, 1, amount, received))
                    accepted.append(item)
                    settled.append(place)
                    continue
            settled.append(self._one(item))

    @property
    def _next_seq(self) -> int:
        return self.view.head.seq + len(self._accepted) + 1

    def _one(self, item: Prepared | Refusal) -> _Settled:
        if isinstance(item, Refusal):
            return item
        mark = self._mark()
        try:
            return self._accept(item)
        except Refusal as refusal:
            self._undo(mark)
            return refusal.with_traceback(None)  # else it would keep the whole round alive

    def _linked(self, group: Sequence[Prepared | Refusal]) -> list[_Settled]:
        mark = self._mark()
        settled: list[_Settled] = []
        for item in group:
            try:
                if isinstance(item, Refusal):
                    raise item
                settled.append(self._accept(item))
            except Refusal as refusal:
                return self._refuse_all(group, len(settled), refusal, mark)
        again = [index for index, each in enumerate(settled) if not isinstance(each, int)]
        if len(again) not in (0, len(group)):
            # Some were accepted before, outside this group: they can no longer fall with the others.
            item = group[again[0]]
            assert isinstance(item, Prepared)
            conflict = ConflictingKey(key=item.draft.key, source=item.draft.source)
            return self._refuse_all(group, again[0], conflict, mark)
        return settled

    def _refuse_all(
        self, group: Sequence[Prepared | Refusal], at: int, refusal: Refusal, mark: _Mark
    ) -> list[_Settled]:
        self._undo(mark)
        return [refusal if index == at else LinkedRefused() for index in range(len(group))]

    def _accept(self, item: Prepared) -> _Settled:
        draft = item.draft
        if (self.view.known or self._repeats) and (again := self._again(item)) is not None:
            return again
        if draft.corrects is not None and draft.corrects not in self.view.known_ids:
            raise UnknownEntry(entry=entry_id(draft.corrects))
        if draft.hold is not None:
            item = self._use_hold(item)
        self._move(item.draft)
        if draft.memo is not None:
            self._decision.memos.append((self._next_seq, draft.memo_salt, draft.memo))
        place = len(self._accepted)
        if self._repeats:
            self._places[draft.source, draft.key] = place
        self._accepted.append(item)
        return place

    def _again(self, item: Prepared) -> Posted | _Again | None:
        """The outcome of a draft whose key was used before, for the same request."""
        key = (item.draft.source, item.draft.key)
        known = self.view.known.get(key)
        place = self._places.get(key)
        if known is not None:
            same = same_request(known.content, known.memo_salt, item)
        elif place is not None:
            first = self._accepted[place]
            same = same_request(first.content, None if first.draft.memo is None else first.draft.memo_salt, item)
        else:
            return None
        if not same:
            raise ConflictingKey(key=item.draft.key, source=item.draft.source)
        return known.posted._replace(again=True) if known is not None else _Again(place or 0)

    def _move(self, draft: Draft) -> None:
        """Apply the legs; when all are applied nobody may be overdrawn, and every balance on the way must fit."""
        ids, balances = self.view.ids, self.view.balances
        seq = self._next_seq
        side = 0
        beyond: str | None = None  # whose running balance does not fit its column
        for leg in draft.legs:
            payer, payee = ids.get(leg.from_), ids.get(leg.to)
            if payer is None or payee is None:
                raise UnknownAccount(account=leg.from_ if payer is None else leg.to)
            if self.view.states:
                self._check_open(leg)
            amount = leg.amount
            balances[payer] = paid = balances[payer] - amount
            balances[payee] = received = balances[payee] + amount
            self._decision.postings += ((payer, seq, side, -amount, paid), (payee, seq, side + 1, amount, received))
            side += 2
            if received > AMOUNT_MAX or paid < -AMOUNT_MAX:
                beyond = leg.to if received > AMOUNT_MAX else leg.from_
        for leg in draft.legs:
            if (balance := balances[ids[leg.from_]]) < 0:
                _check_overdraft(leg.from_, balance, draft)
        if beyond is not None:
            raise BalanceOutOfRange(account=beyond)

    def _check_open(self, leg: Leg) -> None:
        for name in (leg.from_, leg.to):
            state = self.view.states.get(self.view.ids[name])
            if state == "closed":
                raise AccountClosed(account=name)
            if state == "frozen" and not leg.rest:  # what remains in a hold always finds its way back
                raise AccountFrozen(account=name)

    def _use_hold(self, item: Prepared) -> Prepared:
        """Open the hold's account, or complete the legs with what remains."""
        draft = item.draft
        if isinstance(draft.hold, HoldTerms):
            self._place_hold(draft, draft.hold)
            return item
        assert draft.hold is not None
        hold = self.view.holds.get(draft.hold.id)
        if hold is None:
            raise UnknownHold(hold=hold_id(draft.hold.id))
        legs = self._hold_legs(draft, draft.hold, hold)
        changed = replace(
            hold,
            captures=hold.captures + (draft.kind == HOLD_CAPTURE),
            closed_seq=self._next_seq if _taken(legs) == self._remaining(hold) else None,
            changed=True,
        )
        self._set_hold(changed, hold)
        return item if item.content else complete(draft, legs)

    def _set_hold(self, hold: HoldState, before: HoldState | None) -> None:
        self.view.holds[hold.id] = hold
        self._hold_log.append((hold.id, before))

    def _remaining(self, hold: HoldState) -> int:
        return self.view.balances[self.view.ids[hold.account]]

    def _hold_legs(self, draft: Draft, use: HoldUse, hold: HoldState) -> tuple[Leg, ...]:
        remaining = self._remaining(hold)
        if remaining == 0:
            raise HoldClosed(hold=hold_id(hold.id))
        if draft.kind == HOLD_EXPIRE and self._at_us < hold.expires_us:
            raise HoldNotExpired(hold=hold_id(hold.id), expires_at=format_time(hold.expires_us))
        if draft.kind != HOLD_CAPTURE:
            return (Leg(hold.account, hold.payer, remaining, rest=True),)
        if self._at_us >= hold.expires_us:
            raise HoldExpired(hold=hold_id(hold.id), expired_at=format_time(hold.expires_us))
        _check_capture(draft, hold, remaining)
        rest = remaining - _taken(draft.legs)
        last = hold.captures + 1 == hold.captures_max
        if last and not use.final and rest:
            raise BadEntry(why=f"this is the last of {hold.captures_max} captures, so it must be final")
        if use.final and rest:
            return (*draft.legs, Leg(hold.account, hold.payer, rest, rest=True))
        return draft.legs

    def _place_hold(self, draft: Draft, terms: HoldTerms) -> None:
        leg = draft.legs[0]
        if terms.id in self.view.holds:
            raise BadEntry(why=f"the hold {hold_id(terms.id)} exists already")
        if terms.expires_us <= self._at_us:
            raise BadEntry(why="a hold must expire in the future")
        check_hold_length(terms, self._at_us, self._policy)
        account = self.view.new_account_ids.pop()
        self.view.ids[leg.to] = account
        self.view.balances[account] = 0
        hold = HoldState(terms.id, leg.to, leg.from_, terms.expires_us, terms.captures, 0, placed_seq=self._next_seq)
        self._set_hold(hold, None)
        self._decision.new_accounts.append((leg.to, account))
        self._decision.new_holds.append(hold)

    def _mark(self) -> _Mark:
        decision = self._decision
        return (
            len(self._accepted),
            len(decision.postings),
            len(self._hold_log),
            len(decision.memos),
            len(decision.new_holds),
        )

    def _undo(self, mark: _Mark) -> None:
        """Put everything back to where it was at the mark."""
        accepted, postings, holds, memos, new_holds = mark
        decision = self._decision
        for account, _, _, delta, _ in decision.postings[postings:]:
            self.view.balances[account] -= delta
        for hold, before in reversed(self._hold_log[holds:]):
            if before is None:
                del self.view.holds[hold]
            else:
                self.view.holds[hold] = before
        for name, account in decision.new_accounts[new_holds:]:
            del self.view.ids[name], self.view.balances[account]
            self.view.new_account_ids.append(account)
        for item in self._accepted[accepted:]:
            self._places.pop((item.draft.source, item.draft.key), None)
        del self._accepted[accepted:], self._hold_log[holds:]
        del decision.postings[postings:], decision.memos[memos:]
        del decision.new_holds[new_holds:], decision.new_accounts[new_holds:]


_Mark = tuple[int, int, int, int, int]  # how many were accepted, postings, hold changes, memos, new holds


def _repeats(groups: Sequence[Sequence[Prepared | Refusal]]) -> bool:
    """Whether a key stands in the batch twice; only then its entries must be known to each other."""
    drafts = [item.draft for group in groups for item in group if isinstance(item, Prepared)]
    if len({draft.key for draft in drafts}) == len(drafts):  # as almost always; pairs take longer
        return False
    return len({(draft.source, draft.key) for draft in drafts}) < len(drafts)


def _outcome(settled: _Settled, posted: Sequence[Posted]) -> Outcome:
    if isinstance(settled, int):
        return posted[settled]
    if isinstance(settled, _Again):
        return posted[settled.place]._replace(again=True)
    return settled


def _check_capture(draft: Draft, hold: HoldState, remaining: int) -> None:
    for leg in draft.legs:
        if leg.from_ != hold.account:
            raise BadEntry(why="every leg of a capture comes from the hold's account")
        if account_name(leg.to).is_hold:
            raise BadEntry(why="a capture cannot go to a hold")
    taken = _taken(draft.legs)
    if taken > remaining:
        raise InsufficientFunds.of(account_name(hold.account), taken, remaining)


def _taken(legs: tuple[Leg, ...]) -> int:
    return sum(leg.amount for leg in legs)


def _check_overdraft(name: str, balance: int, draft: Draft) -> None:
    if account_name(name).may_overdraw:
        return
    asked = sum(leg.amount for leg in draft.legs if leg.from_ == name)
    received = sum(leg.amount for leg in draft.legs if leg.to == name)
    raise InsufficientFunds.of(account_name(name), asked, balance + asked - received)
