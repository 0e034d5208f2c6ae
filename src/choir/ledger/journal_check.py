"""Going through a journal from its first entry and finding everything that is not as it must be.

Pure: whoever reads a database or an export feeds it acts and entries in the order in which they
happened. State is one number per account and per hold that ever was, what open holds there are, the
checkpoints that are yet to be met, and the right edge of the Merkle tree: entries stream through. A
difference is reported where it is, and the check goes on behind it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from choir.foundation.errors import ChoirError
from choir.foundation.money import AMOUNT_MAX, Asset
from choir.ledger import hashing
from choir.ledger.merkle import Frontier
from choir.ledger.model import (
    HOLD_ACCOUNTS,
    HOLD_CAPTURE,
    HOLD_EXPIRE,
    HOLD_KINDS,
    HOLD_PLACE,
    HOLD_PREFIX,
    Draft,
    HoldTerms,
    HoldUse,
    Leg,
    account_name,
    hold_account,
)

DIFFERENCES_MAX = 50  # enough to see a pattern; more would only scroll

Posting = tuple[str, int, int, int]  # account, leg side, delta, balance
_STEPS: dict[str, tuple[str | None, str]] = {  # what an account must be before an act, and what it is after
    "open": (None, "open"),
    "freeze": ("open", "frozen"),
    "unfreeze": ("frozen", "open"),
    "close": ("open", "closed"),
}


class Difference(NamedTuple):
    """Something that is not as it must be."""

    where: str
    what: str


class Act(NamedTuple):
    """An act on an account, as it is stored and hashed."""

    n: int
    account: str
    act: str
    after: int  # how many entries were posted before it
    at_us: int
    reason: str
    source: str
    hash: bytes


@dataclass(slots=True)
class CheckedHold:
    account: str
    payer: str
    expires_us: int
    captures_max: int
    captures: int
    placed_seq: int
    closed_seq: int | None = None


@dataclass(slots=True)
class JournalCheck:
    """The state of a check.

    `roots` are the sizes at which somebody claims to know the root; `heads` are the numbers of acts
    at which somebody claims to know the hash, with the number of entries that there were.
    """

    roots: dict[int, list[tuple[bytes, str]]] = field(default_factory=dict)
    heads: dict[int, list[tuple[bytes, int, str]]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    balances: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    holds: dict[UUID, CheckedHold] = field(default_factory=dict)
    closed: list[tuple[UUID, CheckedHold]] = field(default_factory=list)  # for whoever compares them with a table
    ended: set[int] = field(default_factory=set)  # the ids of all that were closed, as numbers, which are smaller
    held: dict[str, int] = field(default_factory=dict)  # how many open holds an account is the payer of
    placed: int = 0  # how many holds there ever were
    frontier: Frontier = field(default_factory=Frontier)
    seq: int = 0
    at_us: int = 0  # of the last entry or act
    hash: bytes = hashing.ZERO_HASH
    acts: int = 0
    acts_hash: bytes = hashing.ZERO_HASH

    def differ(self, where: str, what: str) -> None:
        if len(self.differences) < DIFFERENCES_MAX:
            self.differences.append(Difference(where, what))

    def expect_root(self, size: int, root: bytes, who: str) -> None:
        """Somebody claims to know the root at this size; to be said before that many entries."""
        self.roots.setdefault(size, []).append((root, who))

    def expect_acts(self, acts: int, hash_: bytes, size: int, who: str) -> None:
        """Somebody claims to know the last act at this size; to be said before that many acts."""
        self.heads.setdefault(acts, []).append((hash_, size, who))

    def start(self) -> None:
        self._check_root()
        self._check_head(0)

    def act(self, act: Act, where: str) -> None:
        """The next act on an account, at its place among the entries."""
        self.link_act(act, where)
        self.apply_act(act, where)

    def link_act(self, act: Act, where: str) -> None:
        """The next act in the chain of acts; what it does may be looked at later."""
        if act.n != self.acts + 1:
            self.differ(where, f"act {act.n} follows act {self.acts}")
        for _, size, who in self.heads.get(self.acts, ()):
            if act.after < size:
                self.differ(where, f"{who} has {size} entries and not this act: account history was forked")
        if not self._is_linked(act):
            self.differ(where, "its hash does not follow from its content and the act before it")
        self.acts, self.acts_hash = act.n, act.hash
        self._check_head(act.after)

    def apply_act(self, act: Act, where: str) -> None:
        """Do to the account what the act says, as of now."""
        if act.after != self.seq:
            self.differ(where, f"it came after entry {act.after} but follows entry {self.seq}")
        if act.at_us < self.at_us:
            self.differ(where, "its time is before the entry or act before it")
        self.at_us = act.at_us
        before = self.states.get(act.account)
        if act.act not in _STEPS or before != _STEPS[act.act][0]:
            self.differ(where, f"'{act.act}' on an account that is {before or 'not there'}")
        try:
            if account_name(act.account).is_hold:
                self.differ(where, "the account of a hold is opened by an entry, not by an act")
        except ChoirError as error:
            self.differ(where, str(error))
        if act.act == "close":
            self._check_unused(act.account, where)
        self.states[act.account] = _STEPS.get(act.act, _STEPS["close"])[1]

    def entry(self, seq: int, id_: UUID, at_us: int, text: str, hash_: bytes, where: str) -> list[Posting]:
        """The next entry; returns the postings that follow from it."""
        if seq != self.seq + 1:
            self.differ(where, f"entry {seq} follows entry {self.seq}")
        if at_us < self.at_us:
            self.differ(where, "its time is before the entry or act before it")
        if seq < 0 or at_us < 0:
            self.differ(where, "its number or time is below zero")
            return []
        if id_.version != 7:
            self.differ(where, "its id is not a UUIDv7")
        digest = hashing.content_digest(text)
        if hashing.entry_hash(self.hash, seq, at_us, id_, digest) != hash_:
            self.differ(where, "its hash does not follow from its content and the entry before it")
        self.frontier.append(hashing.leaf_hash(self.hash, seq, at_us, id_, digest))
        self.seq, self.at_us, self.hash = seq, at_us, hash_
        postings = self._apply(text, where)
        self._check_root()
        return postings

    def _is_linked(self, act: Act) -> bool:
        try:
            content = hashing.act_content(act.account, act.act, act.after, act.reason, act.source)
            return hashing.act_hash(self.acts_hash, act.n, act.at_us, content) == act.hash
        except (ChoirError, struct.error):  # numbers that no hash can hold
            return False

    def _check_unused(self, name: str, where: str) -> None:
        if self.balances.get(name, 0) != 0:
            self.differ(where, f"{name} is closed with a balance of {_shown(name, self.balances[name])}")
        if self.held.get(name, 0) != 0:
            self.differ(where, f"{name} is closed while an open hold would return money to it")

    def _apply(self, text: str, where: str) -> list[Posting]:
        try:
            draft, _ = hashing.parse_content(text)
            if not (draft.kind and draft.reason and draft.source and draft.key):
                self.differ(where, "its kind, reason, source or key is empty")
            if draft.kind in HOLD_KINDS:
                self._apply_hold(draft, where)
            elif draft.kind.startswith(HOLD_PREFIX):
                self.differ(where, f"there is no kind {draft.kind}")
            elif draft.hold is not None or any(leg.rest for leg in draft.legs):
                self.differ(where, f"an entry of kind {draft.kind} cannot use a hold")
            return self._move(draft, where)
        except ChoirError as error:
            self.differ(where, str(error))
            return []

    def _move(self, draft: Draft, where: str) -> list[Posting]:
        postings: list[Posting] = []
        balances = self.balances
        if not draft.legs:
            self.differ(where, "it has no legs")
        for place, leg in enumerate(draft.legs):
            payer, payee = account_name(leg.from_), account_name(leg.to)
            if payer.asset is not payee.asset or leg.from_ == leg.to:
                self.differ(where, f"leg {place} does not move one asset between two accounts")
            if draft.kind not in HOLD_KINDS and (payer.is_hold or payee.is_hold):
                self.differ(where, f"leg {place} touches a hold outside of it")
            self._check_open(leg, where)
            for name, sign, side in ((leg.from_, -1, 0), (leg.to, 1, 1)):
                delta = sign * leg.amount
                balances[name] = balance = balances.get(name, 0) + delta
                if abs(balance) > AMOUNT_MAX:
                    self.differ(where, f"the balance of {name} does not fit 64 bits")
                postings.append((name, place * 2 + side, delta, balance))
        self._check_balances(draft, where)
        for leg in draft.legs:
            if balances.get(leg.from_) == 0 and leg.from_.startswith(HOLD_ACCOUNTS):
                del balances[leg.from_]  # an empty hold stays empty
        return postings

    def _check_open(self, leg: Leg, where: str) -> None:
        """Both accounts are open now; a frozen one may only get back what remained in a hold."""
        for name in (leg.from_, leg.to):
            state = self.states.get(name)
            if state == "open" or (state is None and account_name(name).is_hold):
                continue
            if state is None:
                self.differ(where, f"the account {name} was not opened before it")
            elif state != "frozen" or not leg.rest or name == leg.from_:
                self.differ(where, f"the account {name} was {state}")

    def _check_balances(self, draft: Draft, where: str) -> None:
        for leg in draft.legs:
            for name in (leg.from_, leg.to):
                balance = self.balances[name]
                if balance < 0 and not account_name(name).may_overdraw:
                    self.differ(where, f"the balance of {name} falls to {_shown(name, balance)}")

    def _apply_hold(self, draft: Draft, where: str) -> None:
        if draft.kind == HOLD_PLACE:
            self._place(draft, where)
            return
        hold = self.holds.get(draft.hold.id) if isinstance(draft.hold, HoldUse) else None
        if hold is None or draft.hold is None:
            self.differ(where, "it uses a hold that is not open")
            return
        remaining = self.balances.get(hold.account, 0)
        taken = sum(leg.amount for leg in draft.legs)
        rest = sum(leg.amount for leg in draft.legs if leg.rest)
        for leg in draft.legs:
            to_where_it_may = leg.to == hold.payer if leg.rest else not account_name(leg.to).is_hold
            if leg.from_ != hold.account or not to_where_it_may:
                self.differ(where, "a leg does not go from the hold to where it may go")
        if draft.kind == HOLD_CAPTURE:
            self._capture(draft, hold, remaining - taken, where)
        else:
            if rest != taken or taken != remaining:
                self.differ(where, f"it releases {rest} of the {remaining} that remained")
            if draft.kind == HOLD_EXPIRE and self.at_us < hold.expires_us:
                self.differ(where, "the hold had not expired")
        if taken >= remaining:
            self._close(draft.hold.id, hold)

    def _close(self, id_: UUID, hold: CheckedHold) -> None:
        """Forget a hold that is empty; whoever compares it with a table takes it from `closed`."""
        hold.closed_seq = self.seq
        self.closed.append((id_, hold))
        self.ended.add(id_.int)
        del self.holds[id_]
        self.held[hold.payer] -= 1
        if self.held[hold.payer] == 0:
            del self.held[hold.payer]

    def _capture(self, draft: Draft, hold: CheckedHold, left: int, where: str) -> None:
        assert isinstance(draft.hold, HoldUse)
        hold.captures += 1
        if self.at_us >= hold.expires_us:
            self.differ(where, "it captures from a hold that had expired")
        if hold.captures > hold.captures_max:
            self.differ(where, f"it is capture {hold.captures} of {hold.captures_max}")
        last = draft.hold.final or hold.captures == hold.captures_max
        if left > 0 and last:
            self.differ(where, f"a last capture leaves {left} in the hold")
        if sum(leg.rest for leg in draft.legs) > last:
            self.differ(where, "the rest is released once, with the last capture")

    def _place(self, draft: Draft, where: str) -> None:
        terms = draft.hold
        if not isinstance(terms, HoldTerms) or len(draft.legs) != 1:
            self.differ(where, "it does not place one hold")
            return
        if terms.id in self.holds or terms.id.int in self.ended:
            self.differ(where, f"the hold {terms.id} was placed before")
            return
        if terms.captures < 1 or terms.expires_us < 0:
            self.differ(where, "the hold's terms are not possible")
        leg = draft.legs[0]
        if account_name(leg.from_).is_hold:
            self.differ(where, "a hold is placed on a hold")
        if leg.rest or leg.to != hold_account(terms.id, account_name(leg.from_).asset):
            self.differ(where, "the hold's money does not go to the hold's account")
        self.placed += 1
        self.held[leg.from_] = self.held.get(leg.from_, 0) + 1
        self.holds[terms.id] = CheckedHold(leg.to, leg.from_, terms.expires_us, terms.captures, 0, self.seq)

    def _check_root(self) -> None:
        for root, who in self.roots.get(self.seq, ()):
            if self.frontier.root() != root:
                self.differ(f"entry {self.seq}", f"the Merkle root here is not the one of {who}: history was forked")

    def _check_head(self, after: int) -> None:
        """Compare the chain of acts with what is claimed for exactly this many."""
        for hash_, size, who in self.heads.get(self.acts, ()):
            if self.acts_hash != hash_ or after > size:
                what = f"the account acts up to here are not those of {who}: account history was forked"
                self.differ(f"account act {self.acts}", what)

    def finish(self) -> None:
        """What can only be known at the end."""
        for acts in sorted(self.heads):
            if acts > self.acts:
                for _, _, who in self.heads[acts]:
                    what = f"the end of the account history is missing: {who} has {acts} account acts"
                    self.differ(f"account act {self.acts}", what)
        for size in sorted(self.roots):
            if size > self.seq:
                for _, who in self.roots[size]:
                    self.differ(f"entry {self.seq}", f"the end is missing: {who} has {size} entries")
        totals: dict[str, int] = {}
        for name, balance in self.balances.items():
            asset = account_name(name).asset.name
            totals[asset] = totals.get(asset, 0) + balance
        for asset, total in totals.items():
            if total != 0:
                self.differ(f"asset {asset}", f"all accounts together have {Asset.of(asset).format(total)}, not zero")


def _shown(name: str, units: int) -> str:
    """A balance as people read it."""
    asset = account_name(name).asset
    return f"{asset.format(units)} {asset.name}"
