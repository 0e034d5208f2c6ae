"""What a node says it owes, what a proof of it consists of, and what can be said no to."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from choir.foundation.errors import Broken, NotFound, Refusal
from choir.foundation.money import Asset


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the node owed after so many entries, as it was published."""

    id: UUID
    size: int  # of the journal
    at_us: int
    note: str  # the totals, signed
    checkpoint: str  # the journal's own signed note of that size
    secret: bytes = field(repr=False)  # what hides the leaves of others from who sees a proof


@dataclass(frozen=True, slots=True)
class PublicationRequest:
    """That a snapshot of at least this many entries was asked for and is not there yet."""

    size: int
    problem: str | None  # how the last try ended, if it failed


@dataclass(frozen=True, slots=True)
class Owed:
    """What is owed on one account: what it has, and what is held for it."""

    account: str
    balance: int
    held: int

    @property
    def amount(self) -> int:
        return self.balance + self.held


@dataclass(frozen=True, slots=True)
class Leaf:
    """One of the shares that an account's amount is split into, with its place."""

    amount: int
    salt: bytes
    index: int


@dataclass(frozen=True, slots=True)
class Share:
    """A leaf and the nodes beside its way to the root."""

    leaf: Leaf
    beside: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class OwedProof:
    """That an account's amount is part of the total of its asset."""

    owed: Owed
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """Everything that somebody needs to check what is owed to them."""

    snapshot: Snapshot
    rotations: list[str]
    accounts: tuple[OwedProof, ...]


class NothingPublished(NotFound):
    code = "ledger.liabilities.none"
    sentence = "This node has not published its liabilities{when}."
    hint = (
        "An operator can with `choir ledger liabilities`; for the automatic interval see `choir policy explain"
        " ledger.liabilities_every_s`."
    )


class NoLongerKept(NotFound):
    code = "ledger.liabilities.not_kept"
    sentence = "Proofs of the liabilities after entry {size} are no longer available."
    hint = "Use the latest; for how many are kept see `choir policy explain ledger.liabilities_kept`."


class WaitsForAnEntry(Refusal):
    """Whether the key before this one signed for so many entries cannot be known for sure, so nothing is signed."""

    code = "ledger.liabilities.waits_for_entry"
    sentence = (
        "The node's key was rotated after the last entry; the former may have signed the liabilities after {size}."
    )
    hint = "Retry after another entry is posted; what the former key signed is still valid."


class CountingFailed(Broken):
    """The background task that publishes what is owed could not."""

    code = "ledger.liabilities.failed"
    sentence = "The liabilities could not be computed and signed: {why}."
    hint = "The node retries with growing delays. See `choir ledger verify` and the node's log."


class TooManyAccounts(Broken):
    """The place of a share among all others is kept in 32 bits."""

    code = "ledger.liabilities.too_many_accounts"
    sentence = "One asset has liabilities on more than {limit} accounts, which is the limit of a proof."


class NotAllCounted(Broken):
    """What is owed and what the node itself has do not add up to zero, so some account was missed."""

    code = "ledger.liabilities.not_all_counted"
    sentence = "Liabilities in {asset} are {owed_shown} and all other accounts {rest_shown}; they must add up to zero."
    hint = "`choir ledger verify` shows what is wrong with the journal."

    @classmethod
    def of(cls, asset: Asset, owed: int, rest: int) -> NotAllCounted:
        """With units for machines and decimals for people."""
        shown = {"owed_shown": asset.format(owed), "rest_shown": asset.format(rest)}
        return cls(asset=asset.name, owed=str(owed), rest=str(rest), **shown)
