"""What the ledger is made of: accounts, legs, drafts, entries, holds, and every refusal.

An entry is atomic and has one or more legs; a leg moves a positive amount of one asset from one
account to another. A draft is an entry before it was accepted. A hold is money that has really
moved to an escrow account of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id
from choir.foundation.money import Asset

OWNER_KINDS = frozenset({"person", "agent", "treasury", "system", "world", "hold"})
ROLES = frozenset(
    {"available", "stake", "escrow", "vesting", "pool", "insurance"}
    | {"operations", "fees", "owed", "claim", "holdings", "issuance", "external"}
)
CLAIM = "claim"  # what an owner is owed while the account itself cannot be paid; see `claims`
OVERDRAFT_ROLES = frozenset({"issuance", "external"})  # only these may go below zero
_OVERDRAFT_OWNERS = {"issuance": frozenset({"system", "treasury"}), "external": frozenset({"world"})}

_NAME = re.compile(
    r"(?P<kind>[a-z]+):(?P<owner>[A-Za-z0-9_-]{1,64})"
    r"/(?P<role>[a-z]+)(?:\.(?P<purpose>[a-z][a-z0-9_]{0,31}))?"
    r"/(?P<asset>[A-Z]{1,8})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class AccountName:
    """`<owner_kind>:<owner_id>/<role>[.<purpose>]/<ASSET>`, taken apart."""

    text: str
    owner_kind: str
    owner_id: str
    role: str
    purpose: str | None
    asset: Asset

    @property
    def may_overdraw(self) -> bool:
        return self.role in OVERDRAFT_ROLES

    @property
    def is_hold(self) -> bool:
        return self.owner_kind == "hold"


_READ_MAX = 200_000
_read: dict[str, AccountName] = {}  # not `lru_cache`, which notes each use: about a fifth slower


def account_name(text: str) -> AccountName:
    """Read an account name, or refuse it with what is wrong."""
    found = _read.get(text)
    if found is None:
        found = _read_name(text)
        if len(_read) >= _READ_MAX:
            _read.clear()
        _read[text] = found
    return found


def _read_name(text: str) -> AccountName:
    match = _NAME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise BadAccountName(name=str(text)[:120], why="it does not have that form")
    kind, owner, role, purpose, asset = match.groups()
    if kind not in OWNER_KINDS:
        raise BadAccountName(name=text, why=f"'{kind}' is not one of {', '.join(sorted(OWNER_KINDS))}")
    if role not in ROLES:
        raise BadAccountName(name=text, why=f"'{role}' is not one of {', '.join(sorted(ROLES))}")
    if kind not in _OVERDRAFT_OWNERS.get(role, OWNER_KINDS):
        raise BadAccountName(name=text, why=f"an account of role {role} cannot belong to a {kind}")
    return AccountName(text, kind, owner, role, purpose, Asset.of(asset))


class Leg(NamedTuple):
    """A positive amount that moves from one account to another of the same asset."""

    from_: str
    to: str
    amount: int
    rest: bool = False  # what remained in a hold, going back to its payer


@dataclass(frozen=True, slots=True)
class HoldTerms:
    """The terms in a placing entry."""

    id: UUID
    expires_us: int
    captures: int = 1  # how many captures are allowed; the last one returns what remains


@dataclass(frozen=True, slots=True)
class HoldUse:
    """What a later entry does with a hold: capture from it, or give the rest back."""

    id: UUID
    final: bool = True  # a final capture returns what remains


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that somebody asks for. `(source, key)` is its idempotency key."""

    kind: str  # what happened, such as "transfer" or "bazaar.capture"
    reason: str  # why, in words; never personal data
    source: str  # who or what caused it, such as "operator" or "person:…"
    key: str
    legs: tuple[Leg, ...]
    refs: tuple[str, ...] = ()  # jobs, articles, object hashes
    receipt: ObjectHash | None = None
    policy: ObjectHash | None = None
    corrects: UUID | None = None
    hold: HoldTerms | HoldUse | None = None
    memo: str | None = None  # a person's words; only a salted commitment is hashed
    memo_salt: bytes = b""


HOLD_PLACE = "hold.place"
HOLD_CAPTURE = "hold.capture"
HOLD_RELEASE = "hold.release"
HOLD_EXPIRE = "hold.expire"
HOLD_KINDS = frozenset({HOLD_PLACE, HOLD_CAPTURE, HOLD_RELEASE, HOLD_EXPIRE})
HOLD_PREFIX = "hold."  # no other kind begins like this
PLAY_MINT = "system:development"  # whatever comes from its issuance accounts is play money
HOLD_ACCOUNTS = "hold:"  # and no other account like this


class Posted(NamedTuple):
    """An acceptance. The same draft sent again gets the same one, marked `again`."""

    seq: int
    id_bytes: bytes
    at_us: int
    hash: bytes
    again: bool = False

    @property
    def id(self) -> UUID:
        return UUID(bytes=self.id_bytes)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the journal, as it is stored and hashed."""

    seq: int
    id: UUID
    at_us: int
    content: dict[str, Any]
    prev: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Where the journal stands."""

    seq: int
    hash: bytes
    at_us: int
    acts: int
    acts_hash: bytes


@dataclass(frozen=True, slots=True)
class Account:
    """An account and its balance at one moment."""

    name: str
    state: str  # open, frozen, closed
    balance: int

    @property
    def asset(self) -> Asset:
        return account_name(self.name).asset


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold and what remains in it."""

    id: UUID
    account: str
    payer: str
    expires_us: int
    captures_max: int
    captures: int
    remaining: int
    closed: bool


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One movement of one account."""

    seq: int
    leg: int
    at_us: int
    id: UUID
    kind: str
    reason: str
    delta: int
    balance: int
    other: str  # the account on the other side


@dataclass(frozen=True, slots=True)
class TrialLine:
    """All accounts of one asset and role together. The sum per asset is zero by law."""

    asset: str
    role: str
    accounts: int
    balance: int


def entry_id(value: UUID) -> str:
    return show_id("entry", value)


def parse_entry_id(text: str) -> UUID:
    """An entry's id, as it is shown or as a plain UUID."""
    if len(text) == 36 and text.count("-") == 4:
        try:
            return UUID(text)
        except ValueError:
            pass
    return parse_id("entry", text)


def hold_id(value: UUID) -> str:
    return show_id("hold", value)


def hold_account(hold: UUID, asset: Asset) -> str:
    """The account that a hold's money is in."""
    return f"{HOLD_ACCOUNTS}{hold}/escrow/{asset.name}"


# Refusals. Each says what was missing; none writes anything or binds an idempotency key.


class BadAccountName(Invalid):
    code = "ledger.account.bad_name"
    sentence = "'{name}' is not an account name: {why}."
    hint = "Write <owner_kind>:<owner_id>/<role>[.<purpose>]/<ASSET>, such as person:ada/available/SAT."


class BadEntry(Invalid):
    code = "ledger.entry.invalid"
    sentence = "The entry is not valid: {why}."


class UnknownAccount(NotFound):
    code = "ledger.account.unknown"
    sentence = "There is no account {account}."
    hint = "Accounts are opened explicitly: `choir ledger open {account}`."


class AccountFrozen(Refusal):
    code = "ledger.account.frozen"
    sentence = "The account {account} is frozen."
    hint = "An operator can unfreeze it with `choir ledger unfreeze`."


class AccountClosed(Refusal):
    code = "ledger.account.closed"
    sentence = "The account {account} is closed."
    hint = "A closed account stays closed; open another one."


class AccountInUse(Refusal):
    code = "ledger.account.in_use"
    sentence = "The account {account} cannot be closed: {why}."


class WrongState(Refusal):
    code = "ledger.account.wrong_state"
    sentence = "The account {account} is {state}, so it cannot be {act}."


class ClaimStays(Refusal):
    code = "ledger.account.claim_stays"
    sentence = "The account {account} is a claim, so it cannot be {act}: it must always accept payments."
    hint = "Freeze the owner's other accounts; an owner cannot spend from a claim."


class AssetMismatch(Invalid):
    code = "ledger.asset_mismatch"
    sentence = "A leg moves one asset, but {from_account} holds {from_asset} and {to_account} holds {to_asset}."


class InsufficientFunds(Refusal):
    code = "ledger.insufficient_funds"
    sentence = "{account} has {available_shown} {asset} and {asked_shown} {asset} were requested."
    hint = (
        "An operator can fund it. On a development node: `choir --operator fund {account} AMOUNT`. On a production"
        " node, two together: `choir ledger open {account}`, then `choir ledger issue propose {account} AMOUNT`."
    )

    @property
    def advice(self) -> str:
        """A hold has what was set aside when it was placed; nothing is ever added to it."""
        return "" if str(self.fields.get("account", "")).startswith(HOLD_ACCOUNTS) else super().advice

    @classmethod
    def of(cls, name: AccountName, asked: int, available: int) -> InsufficientFunds:
        """With units for machines and decimals for people."""
        asset = name.asset
        return cls(
            account=name.text,
            asset=asset.name,
            asked=str(asked),
            available=str(available),
            asked_shown=asset.format(asked),
            available_shown=asset.format(available),
        )


class BalanceOutOfRange(Refusal):
    code = "ledger.balance_out_of_range"
    sentence = "The balance of {account} would not fit 64 bits."


class ConflictingKey(Refusal):
    code = "ledger.conflicting_key"
    sentence = "The key '{key}' was already used by {source} for other content."
    hint = "Send the first request unchanged to see its entry, or choose a new key."


class LinkedRefused(Refusal):
    code = "ledger.linked_refused"
    sentence = "This entry is linked to another one that was refused."


class UnknownHold(NotFound):
    code = "ledger.hold.unknown"
    sentence = "There is no hold {hold}."


class HoldClosed(Refusal):
    code = "ledger.hold.closed"
    sentence = "The hold {hold} is closed: nothing remains in it."


class HoldExpired(Refusal):
    code = "ledger.hold.expired"
    sentence = "The hold {hold} expired at {expired_at}."


class HoldNotExpired(Refusal):
    code = "ledger.hold.not_expired"
    sentence = "The hold {hold} is open until {expires_at}."


class UnknownEntry(NotFound):
    code = "ledger.entry.unknown"
    sentence = "There is no entry {entry}."


class NotYetPosted(NotFound):
    """An entry was meant by a number that the journal has not reached."""

    code = "ledger.entry.not_yet"
    sentence = "There is no entry number {number}; the last is {last}."


class BatchTooLarge(Invalid):
    code = "ledger.batch.too_large"
    sentence = "The batch has {entries} entries; the limit is {limit}."


class DevelopmentOnly(Refusal):
    code = "ledger.development_only"
    sentence = "{what} is for development nodes only; this is a production node."
    hint = "Two operators can issue money: `choir ledger issue propose`."
