"""The treasury's accounts, the entry that its CHIP comes from, and how operators fund its citation pool.

Guarantees: the treasury begins with its genesis, posted once by a fixed key, before anything is paid to it or by it. On
a production node one operator alone cannot fund a pool: it becomes an issuance that another must approve.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.canonical import ObjectHash
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.issuances.model import Issuance
from choir.ledger.issuances.service import Issuances
from choir.ledger.model import Draft, Entry, Leg, Posted, UnknownAccount
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.treasury.policy import TreasuryPolicy

HOLDINGS = "treasury:main/holdings/CHIP"
INSURANCE = "treasury:main/insurance/CHIP"
VERIFIER_FUND = "treasury:main/pool.verifier/CHIP"
CITATION_POOL = "treasury:main/pool.citation/USDC"
OPERATIONS = "treasury:main/operations/USDC"
DEBT = "treasury:main/owed.loan/USDC"  # what the treasury has borrowed; opened by whoever lends to it

_ISSUANCE = "treasury:main/issuance/CHIP"
_OPENED = (_ISSUANCE, HOLDINGS, INSURANCE, VERIFIER_FUND, CITATION_POOL, OPERATIONS)
_USDC = "system:node/issuance/USDC"  # where issuances of USDC come from, unless they say otherwise
_SOURCE = "system:genesis"
_KEY = "chip"
_WHY = "the treasury's first CHIP"


@dataclass(frozen=True, slots=True)
class Funded:
    """What came of funding a pool: an entry, or an issuance that another operator must approve."""

    posted: Posted | None = None
    issuance: Issuance | None = None
    new: bool = True  # else the same was asked for before


class Treasury:
    """All inside the caller's transaction."""

    def __init__(
        self,
        ledger: Ledger,
        accounts: Accounts,
        issuances: Issuances,
        policy: TreasuryPolicy,
        policy_hash: ObjectHash,
        *,
        production: bool,
    ) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._issuances = issuances
        self._policy = policy
        self._policy_hash = policy_hash
        self._production = production

    def open(self, tx: Tx) -> None:
        """Have the treasury's accounts there, and its genesis posted; takes the head's lock the first time."""
        self._accounts.open(tx, _OPENED, reason=_WHY, source=_SOURCE)
        if self._has_begun(tx):
            return
        self._ledger.lock(tx)  # so that of two who come first, the second sees the genesis of the first
        if not self._has_begun(tx):
            leg = Leg(_ISSUANCE, HOLDINGS, self._policy.genesis_chip)
            self._ledger.post(tx, Draft("genesis", _WHY, _SOURCE, _KEY, (leg,), policy=self._policy_hash))

    @staticmethod
    def _has_begun(tx: Tx) -> bool:
        return bool(queries.posted_keys(tx, [(_SOURCE, _KEY)]))

    @staticmethod
    def genesis(tx: Tx) -> Entry | None:
        """The entry of the treasury's first CHIP, once it is posted."""
        return queries.entry_of_key(tx, _SOURCE, _KEY)

    def fund(self, tx: Tx, operator: str, amount: int, *, reason: str, key: str) -> Funded:
        """Bring USDC into the citation pool, or propose it where one operator alone may not."""
        if self._production:
            leg = Leg(_USDC, CITATION_POOL, amount)
            issuance, new = self._issuances.propose(tx, operator, (leg,), reason=reason, key=key)
            return Funded(issuance=issuance, new=new)
        self._accounts.open(tx, [_USDC], reason=reason, source=operator)
        draft = Draft("treasury.fund", reason, operator, key, (Leg(_USDC, CITATION_POOL, amount),))
        [posted] = self._ledger.post(tx, draft)
        return Funded(posted=posted, new=not posted.again)


def balance_at(tx: Tx, account: str, at_us: int) -> int:
    """What was in one of the treasury's accounts then; nothing, if it did not exist."""
    try:
        return queries.balance_at_time(tx, account, at_us)
    except UnknownAccount:
        return 0


def debt_at(tx: Tx, at_us: int) -> int:
    """What the treasury owed to its lenders then, in units of USDC."""
    return balance_at(tx, DEBT, at_us)
