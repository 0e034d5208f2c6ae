"""Which entries the ledger accepts, given what the database knew: pure, data in, data out.

`decide` goes over a batch in order and says for each draft accepted or refused, with the rows to write. It
does no I/O and its work is bounded by the size of the batch.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from choir.foundation.clock import format_time
from choir.foundation.errors import Refusal
from choir.foundation.ids import uuid7
from choir.foundation.money import AMOUNT_MAX
from choir.ledger import hashing
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
from choir.ledger.rounds import AccountState, Decision, HoldState, KnownEntry, View
from choir.ledger.rules import Outcome, Prepared, complete

_ID_TAIL = struct.Struct(">Q")
_STAGE_GROUPS = 200
ID_RANDOM_BYTES = 4  # beside the time, an id has 32 bits of its entry's number and 30 of chance
ID_CHANCE_MASK = 0x3FFF_FFFF


def decide(groups: Sequence[Sequence[Prepared | Refusal]], view: View, now_us: int, random: bytes) -> Decision:
    """Accept or refuse each draft in order; a group stands or falls together."""
    decision = Decision()
    for decision in stages(groups, view, now_us, random):  # noqa: B007 - the last one is all of it
        pass
    return decision


def stages(
    groups: Sequence[Sequence[Prepared | Refusal]], view: View, now_us: int, random: bytes
) -> Iterator[Decision]:
    """The same decision again and again as it grows, so that its beginning can be written meanwhile.

    Rows that were once in it stay as they are; what is said of holds and of the head is true in the last one.
    """
    round_ = _Round(view, now_us, random, repeats=_repeats(groups))
    for start in range(0, len(groups), _STAGE_GROUPS):
        for group in groups[start : start + _STAGE_GROUPS]:
            round_.add(group)
        if start + _STAGE_GROUPS < len(groups):
            yield round_.decision
    round_.finish()
    yield round_.decision


def _repeats(groups: Sequence[Sequence[Prepared | Refusal]]) -> bool:
    """Whether a key stands in the batch twice; only then its entries must be known to each other."""
    keys = [(item.draft.source, item.draft.key) for group in groups for item in group if isinstance(item, Prepared)]
    return len(set(keys)) < len(keys)


def refusals(group: Sequence[Prepared | Refusal]) -> list[Outcome]:
    """The outcomes of a group in which nothing is valid: the first refusal stands for all."""
    return [item if index == 0 and isinstance(item, Refusal) else LinkedRefused() for index, item in enumerate(group)]


class _Round:
    """One pass over a batch. Every change is noted, so that a refused group leaves no trace."""

    def __init__(self, view: View, now_us: int, random: bytes, *, repeats: bool) -> None:
        self.view = view
        self.repeats = repeats  # whether a key stands in this batch twice
        self.random = random
        self.at_us = max(now_us, view.head.at_us)
        self.id_prefix = uuid7(self.at_us, 0, bytes(6)).bytes[:8]  # time and version; order and chance follow
        self.seq = view.head.seq
        self.prev = view.head.hash
        self.decision = Decision(at_us=self.at_us)
        self.touched: list[AccountState] = []  # beside each posting, the account it moved
        self.hold_log: list[tuple[UUID, HoldState | None]] = []  # what a hold was before each change

    def add(self, group: Sequence[Prepared | Refusal]) -> None:
        if len(group) == 1:
            self.decision.outcomes.append(self._one(group[0]))
        else:
            self.decision.outcomes.extend(self._linked(group))

    def finish(self) -> None:
        self.decision.head_hash = self.prev
        new = {hold.id for hold in self.decision.new_holds}
        self.decision.new_holds = [self.view.holds[id_] for id_ in new]
        self.decision.changed_holds = [hold for hold in self.view.holds.values() if hold.changed and hold.id not in new]

    def _one(self, item: Prepared | Refusal) -> Outcome:
        if isinstance(item, Refusal):
            return item
        # One leg without a hold is judged before anything is touched, so there is nothing to undo.
        mark = self._mark() if item.draft.hold is not None or len(item.draft.legs) != 1 else None
        try:
            return self._accept(item)
        except Refusal as refusal:
            if mark is not None:
                self._undo(mark)
            return refusal.with_traceback(None)  # else it would keep the whole round alive

    def _linked(self, group: Sequence[Prepared | Refusal]) -> list[Outcome]:
        mark = self._mark()
        outcomes: list[Outcome] = []
        for item in group:
            try:
                if isinstance(item, Refusal):
                    raise item
                outcomes.append(self._accept(item))
            except Refusal as refusal:
                return self._refuse_all(group, len(outcomes), refusal, mark)
        again = sum(1 for outcome in outcomes if isinstance(outcome, Posted) and outcome.again)
        if again not in (0, len(group)):
            # Some were accepted before, outside this group: they can no longer fall with the others.
            first = next(i for i, outcome in enumerate(outcomes) if isinstance(outcome, Posted) and outcome.again)
            item = group[first]
            assert isinstance(item, Prepared)
            conflict = ConflictingKey(key=item.draft.key, source=item.draft.source)
            return self._refuse_all(group, first, conflict, mark)
        return outcomes

    def _refuse_all(self, group: Sequence[Prepared | Refusal], at: int, refusal: Refusal, mark: _Mark) -> list[Outcome]:
        self._undo(mark)
        return [refusal if index == at else LinkedRefused() for index in range(len(group))]

    def _accept(self, item: Prepared) -> Posted:
        draft = item.draft
        known = self.view.known.get((draft.source, draft.key))
        if known is not None:
            if not _same_request(known, item):
                raise ConflictingKey(key=draft.key, source=draft.source)
            return known.posted._replace(again=True)
        if draft.corrects is not None and draft.corrects not in self.view.known_ids:
            raise UnknownEntry(entry=entry_id(draft.corrects))
        if draft.hold is not None:
            item = self._use_hold(item)
        self._move(item.draft)
        return self._append(item)

    def _move(self, draft: Draft) -> None:
        """Apply the legs; when all are applied nobody may be overdrawn, and every balance on the way must fit."""
        if len(draft.legs) == 1:
            self._move_once(draft.legs[0])
            return
        accounts = self.view.accounts
        postings = self.decision.postings
        seq = self.seq + 1
        side = 0
        beyond: AccountState | None = None  # a running balance that does not fit its column
        for leg in draft.legs:
            payer, payee = accounts.get(leg.from_), accounts.get(leg.to)
            if payer is None or payee is None:
                raise UnknownAccount(account=leg.from_ if payer is None else leg.to)
            if payer.state != "open" or payee.state != "open":
                _check_open(payer, payee, leg)
            amount = leg.amount
            payer.balance -= amount
            payee.balance += amount
            postings.append((payer.id, seq, side, -amount, payer.balance))
            postings.append((payee.id, seq, side + 1, amount, payee.balance))
            self.touched += (payer, payee)
            side += 2
            if payee.balance > AMOUNT_MAX or payer.balance < -AMOUNT_MAX:
                beyond = payee if payee.balance > AMOUNT_MAX else payer
        for leg in draft.legs:
            payer = accounts[leg.from_]
            if payer.balance < 0:
                _check_overdraft(payer, draft)
        if beyond is not None:
            raise BalanceOutOfRange(account=beyond.name)

    def _move_once(self, leg: Leg) -> None:
        """The same for one leg, which most entries have: it can be judged before it is applied."""
        from_, to, amount, _ = leg
        accounts = self.view.accounts
        payer, payee = accounts.get(from_), accounts.get(to)
        if payer is None or payee is None:
            raise UnknownAccount(account=from_ if payer is None else to)
        if payer.state != "open" or payee.state != "open":
            _check_open(payer, payee, leg)
        paid, received = payer.balance - amount, payee.balance + amount
        if paid < 0 and not account_name(from_).may_overdraw:
            raise InsufficientFunds.of(account_name(from_), amount, payer.balance)
        if received > AMOUNT_MAX or paid < -AMOUNT_MAX:
            raise BalanceOutOfRange(account=to if received > AMOUNT_MAX else from_)
        payer.balance, payee.balance = paid, received
        seq = self.seq + 1
        self.decision.postings += ((payer.id, seq, 0, -amount, paid), (payee.id, seq, 1, amount, received))
        self.touched += (payer, payee)

    def _append(self, item: Prepared) -> Posted:
        draft = item.draft
        self.seq = seq = self.seq + 1
        offset = (seq - self.view.head.seq - 1) * ID_RANDOM_BYTES
        chance = int.from_bytes(self.random[offset : offset + 4]) & ID_CHANCE_MASK
        id_bytes = self.id_prefix + _ID_TAIL.pack(1 << 63 | (seq & 0xFFFF_FFFF) << 30 | chance)
        at_us = self.at_us
        preimage = hashing.entry_preimage(self.prev, seq, at_us, id_bytes, item.digest)
        self.prev = hash_ = hashlib.sha256(preimage).digest()
        self.decision.entries.append((seq, id_bytes, at_us, draft.source, draft.key, item.content, hash_))
        salt = None
        if draft.memo is not None:
            salt = draft.memo_salt
            self.decision.memos.append((seq, salt, draft.memo))
        posted = Posted(seq, id_bytes, at_us, hash_)
        if self.repeats:
            self.view.known[draft.source, draft.key] = KnownEntry(posted, item.content, salt)
        return posted

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
            closed_seq=self.seq + 1 if _taken(legs) == self._remaining(hold) else None,
            changed=True,
        )
        self._set_hold(changed, hold)
        return item if item.content else complete(draft, legs)

    def _set_hold(self, hold: HoldState, before: HoldState | None) -> None:
        self.view.holds[hold.id] = hold
        self.hold_log.append((hold.id, before))

    def _remaining(self, hold: HoldState) -> int:
        return self.view.accounts[hold.account].balance

    def _hold_legs(self, draft: Draft, use: HoldUse, hold: HoldState) -> tuple[Leg, ...]:
        remaining = self._remaining(hold)
        if remaining == 0:
            raise HoldClosed(hold=hold_id(hold.id))
        if draft.kind == HOLD_EXPIRE and self.at_us < hold.expires_us:
            raise HoldNotExpired(hold=hold_id(hold.id), expires_at=format_time(hold.expires_us))
        if draft.kind != HOLD_CAPTURE:
            return (Leg(hold.account, hold.payer, remaining, rest=True),)
        if self.at_us >= hold.expires_us:
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
        if terms.expires_us <= self.at_us:
            raise BadEntry(why="a hold must expire in the future")
        account = AccountState(self.view.new_account_ids.pop(), leg.to, "open", 0)
        self.view.accounts[leg.to] = account
        hold = HoldState(terms.id, leg.to, leg.from_, terms.expires_us, terms.captures, 0, placed_seq=self.seq + 1)
        self._set_hold(hold, None)
        self.decision.new_accounts.append(account)
        self.decision.new_holds.append(hold)

    def _mark(self) -> _Mark:
        decision = self.decision
        return (
            self.seq,
            self.prev,
            len(self.touched),
            len(self.hold_log),
            len(decision.memos),
            len(decision.new_holds),
        )

    def _undo(self, mark: _Mark) -> None:
        """Put everything back to where it was at the mark."""
        seq, prev, postings, holds, memos, new_holds = mark
        decision = self.decision
        for account, row in zip(self.touched[postings:], decision.postings[postings:], strict=True):
            account.balance -= row[3]
        for hold, before in reversed(self.hold_log[holds:]):
            if before is None:
                del self.view.holds[hold]
            else:
                self.view.holds[hold] = before
        for account in decision.new_accounts[new_holds:]:
            del self.view.accounts[account.name]
            self.view.new_account_ids.append(account.id)
        entries = seq - self.view.head.seq
        for row_ in decision.entries[entries:]:
            self.view.known.pop((row_[3], row_[4]), None)
        del decision.postings[postings:], self.touched[postings:], self.hold_log[holds:]
        del decision.entries[entries:], decision.memos[memos:]
        del decision.new_holds[new_holds:], decision.new_accounts[new_holds:]
        self.seq, self.prev = seq, prev


_Mark = tuple[int, bytes, int, int, int, int]  # seq, prev, postings, hold changes, memos, new holds


def _same_request(known: KnownEntry, item: Prepared) -> bool:
    """Whether an accepted entry is what this draft asks for.

    Bytes decide, with two exceptions that the ledger itself adds after the request: what remained
    in a hold, and the random salt of a memo.
    """
    if known.content == item.content:
        return True
    if item.content and item.draft.memo is None:
        return False
    stored = json.loads(known.content)
    asked = json.loads(hashing.content_text(item.draft, item.draft.legs))
    if isinstance(item.draft.hold, HoldUse):
        stored["legs"] = [leg for leg in stored["legs"] if not leg.get("rest")]
    memo = stored.pop("memo", None)
    asked.pop("memo", None)
    if (memo is None) != (item.draft.memo is None):
        return False
    if memo is not None and known.memo_salt is not None:  # an erased memo can no longer be compared
        assert item.draft.memo is not None
        if hashing.memo_commitment(known.memo_salt, item.draft.memo) != memo:
            return False
    return bool(stored == asked)


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


def _check_open(payer: AccountState, payee: AccountState, leg: Leg) -> None:
    for account in (payer, payee):
        if account.state == "closed":
            raise AccountClosed(account=account.name)
        if account.state == "frozen" and not leg.rest:  # what remains in a hold always finds its way back
            raise AccountFrozen(account=account.name)


def _check_overdraft(payer: AccountState, draft: Draft) -> None:
    name = payer.name
    if account_name(name).may_overdraw:
        return
    asked = sum(leg.amount for leg in draft.legs if leg.from_ == name)
    received = sum(leg.amount for leg in draft.legs if leg.to == name)
    available = payer.balance + asked - received
    raise InsufficientFunds.of(account_name(name), asked, available)
