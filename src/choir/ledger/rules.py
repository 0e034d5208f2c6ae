"""Which drafts are valid in themselves: pure functions that need no database.

`prepare` checks everything about a draft that can be known before the lock is taken, and gives it the form that is
hashed. What follows under the lock is in `deciding` and `chaining`.
"""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from choir.foundation.canonical import parse_object_hash
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import Refusal
from choir.foundation.money import AMOUNT_MAX, checked_amount
from choir.ledger import hashing
from choir.ledger.model import (
    HOLD_CAPTURE,
    HOLD_EXPIRE,
    HOLD_KINDS,
    HOLD_PLACE,
    HOLD_PREFIX,
    HOLD_RELEASE,
    AssetMismatch,
    BadEntry,
    Draft,
    HoldTerms,
    HoldUse,
    Leg,
    Posted,
    account_name,
    hold_account,
)
from choir.ledger.policy import LedgerPolicy

Outcome = Posted | Refusal
_HOLD_CAPTURES_MAX = 2**31 - 1  # the column's width
MEMO_SALT_BYTES = 16


class Prepared(NamedTuple):
    """A draft that is valid in itself. The content is empty where a hold's rest completes it later."""

    draft: Draft
    content: str
    transfer: Leg | None = None  # its one leg, where it is nothing but a transfer: no hold, memo or correction


def prepare(draft: Draft, policy: LedgerPolicy, accounts: Container[str] = frozenset()) -> Prepared:
    """Check a draft and give it its canonical form, or refuse it.

    `accounts` are names of accounts that were opened, other than those of holds: they are not read again.
    """
    _check_texts(draft, policy)
    if len(draft.legs) > policy.entry_legs_max:
        raise BadEntry(why=f"it has {len(draft.legs)} legs; the limit is {policy.entry_legs_max}")
    if not draft.legs and draft.kind not in (HOLD_RELEASE, HOLD_EXPIRE):
        raise BadEntry(why="it has no legs")
    for leg in draft.legs:
        if not _is_sound(leg, accounts):
            _check_leg(leg, draft.kind)
    if draft.hold is not None or draft.kind.startswith(HOLD_PREFIX):
        _check_hold(draft)
        if isinstance(draft.hold, HoldUse) and (draft.kind != HOLD_CAPTURE or draft.hold.final):
            return Prepared(draft, "")  # what remains is known only under the lock
    content = hashing.content_text(draft, draft.legs)
    alone = len(draft.legs) == 1 and draft.hold is None and draft.memo is None and draft.corrects is None
    return Prepared(draft, content, draft.legs[0] if alone else None)


def complete(draft: Draft, legs: tuple[Leg, ...]) -> Prepared:
    """The draft with these legs, in canonical form."""
    content = hashing.content_text(draft, legs)
    done = draft if legs is draft.legs else replace(draft, legs=legs)
    return Prepared(done, content)


def same_request(content: str, memo_salt: bytes | None, item: Prepared) -> bool:
    """Whether an accepted entry is what this draft asks for.

    Bytes decide, with two exceptions that the ledger itself adds after the request: what remained
    in a hold, and the random salt of a memo.
    """
    if content == item.content:
        return True
    if item.content and item.draft.memo is None:
        return False
    stored = json.loads(content)
    asked = json.loads(hashing.content_text(item.draft, item.draft.legs))
    if isinstance(item.draft.hold, HoldUse):
        stored["legs"] = [leg for leg in stored["legs"] if not leg.get("rest")]
    memo = stored.pop("memo", None)
    asked.pop("memo", None)
    if (memo is None) != (item.draft.memo is None):
        return False
    if memo is not None and memo_salt is not None:  # an erased memo can no longer be compared
        assert item.draft.memo is not None
        if hashing.memo_commitment(memo_salt, item.draft.memo) != memo:
            return False
    return bool(stored == asked)


def _check_texts(draft: Draft, policy: LedgerPolicy) -> None:
    limit = policy.text_chars_max
    _check_words(draft.kind, draft.reason, draft.source, limit)
    check_text("key", draft.key, limit)
    if draft.refs:
        if len(draft.refs) > policy.entry_refs_max:
            raise BadEntry(why=f"it has {len(draft.refs)} references; the limit is {policy.entry_refs_max}")
        for ref in draft.refs:
            check_text("reference", ref, limit)
    if draft.receipt is not None:
        parse_object_hash(draft.receipt)
    if draft.policy is not None:
        parse_object_hash(draft.policy)
    if draft.memo is not None:
        check_text("memo", draft.memo, policy.memo_chars_max)
        if len(draft.memo_salt) < MEMO_SALT_BYTES:
            raise BadEntry(why=f"the salt of its memo must have at least {MEMO_SALT_BYTES} bytes")


@lru_cache(maxsize=10_000)  # few kinds, reasons and sources stand on very many entries
def _check_words(kind: str, reason: str, source: str, limit: int) -> None:
    check_text("kind", kind, limit)
    check_text("reason", reason, limit)
    check_text("source", source, limit)


def check_text(name: str, text: str, limit: int) -> None:
    """A text that people wrote: present, of bounded length, valid Unicode without zero characters."""
    if not isinstance(text, str) or not 0 < len(text) <= limit:
        raise BadEntry(why=f"its {name} must be a text of 1 to {limit} characters")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadEntry(why=f"its {name} is not valid Unicode") from None
    if "\0" in text:
        raise BadEntry(why=f"its {name} has a zero character")


def _is_sound(leg: Leg, accounts: Container[str]) -> bool:
    """Whether it can be seen without reading the names that nothing is wrong with a leg.

    Among very many accounts, finding what was once read of two names takes as long as all other checks of an entry.
    """
    from_, to, amount, rest = leg
    return (
        from_ in accounts
        and to in accounts
        and from_ != to
        and from_[from_.rindex("/") :] == to[to.rindex("/") :]  # the asset
        and type(amount) is int
        and 0 < amount <= AMOUNT_MAX
        and not rest
    )


def _check_leg(leg: Leg, kind: str) -> None:
    from_, to, amount, rest = leg
    payer, payee = account_name(from_), account_name(to)
    checked_amount(amount)
    if payer.asset is not payee.asset:
        raise AssetMismatch(from_account=from_, from_asset=payer.asset.name, to_account=to, to_asset=payee.asset.name)
    if from_ == to:
        raise BadEntry(why="a leg goes from an account to itself")
    if (payer.owner_kind == "hold" or payee.owner_kind == "hold") and kind not in HOLD_KINDS:
        raise BadEntry(why="money in a hold moves only by capture, release or expiry")
    if rest:
        raise BadEntry(why="only the ledger itself adds what remains in a hold")


def _check_hold(draft: Draft) -> None:
    if draft.kind == HOLD_PLACE:
        if not isinstance(draft.hold, HoldTerms) or len(draft.legs) != 1:
            raise BadEntry(why="placing a hold takes its terms and one leg")
        leg = draft.legs[0]
        if leg.to != hold_account(draft.hold.id, account_name(leg.from_).asset):
            raise BadEntry(why="the leg of a hold must go to the hold's own account")
        if account_name(leg.from_).is_hold:
            raise BadEntry(why="a hold cannot be placed on a hold")
        if not 1 <= draft.hold.captures <= _HOLD_CAPTURES_MAX:
            raise BadEntry(why="a hold must allow at least one capture")
    elif draft.kind in HOLD_KINDS:
        if not isinstance(draft.hold, HoldUse):
            raise BadEntry(why="it does not say which hold it uses")
        if draft.kind != HOLD_CAPTURE and draft.legs:
            raise BadEntry(why="the legs of a release are what remains; none can be given")
    else:
        raise BadEntry(why=f"an entry of kind {draft.kind} is none that uses a hold")


def check_hold_length(terms: HoldTerms, now_us: int, policy: LedgerPolicy) -> None:
    """A hold cannot outlive the policy's limit."""
    if terms.expires_us > now_us + policy.hold_s_max * MICROSECONDS:
        raise BadEntry(why=f"a hold may be open for at most {policy.hold_s_max} seconds")
