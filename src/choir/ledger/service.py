"""Posting to the journal inside somebody's transaction.

Guarantees: money, state and outbox commit together; the head lock is the last lock that is taken; a refusal writes
nothing. Callers with no other state use a `Submitter`, which shares commits.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Refusal
from choir.ledger.journal import acceptance, store
from choir.ledger.journal.appender import Appender, Group, PreparedGroup, all_posted
from choir.ledger.model import Draft, Posted
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Outcome, Prepared
from choir.storage.database import Tx


class Ledger:
    """Posting entries inside somebody's transaction."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: LedgerPolicy) -> None:
        self.appender = Appender(clock, entropy, policy)

    def prepare(self, draft: Draft | Refusal) -> Prepared | Refusal:
        """Check a draft and give it its canonical form, before any lock is taken."""
        return self.appender.prepare(draft)

    def post(self, tx: Tx, *drafts: Draft) -> list[Posted]:
        """Post these entries together, or raise the refusal of the first that cannot be."""
        return all_posted(self.post_batch(tx, [drafts]))

    def post_batch(self, tx: Tx, groups: Sequence[Group]) -> list[Outcome]:
        """Post many entries, each group accepted or refused on its own, in order."""
        return self.post_prepared(tx, self.appender.prepare_batch(groups))

    def post_prepared(self, tx: Tx, prepared: Sequence[PreparedGroup]) -> list[Outcome]:
        """The same for a caller that prepared them itself, before it took the lock."""
        if (refusals := acceptance.refusals(prepared)) is not None:
            return refusals
        db = tx.connection
        store.lock_head(db)
        decided = self.appender.append(
            db, prepared, self.appender.read(db, prepared, committed=False, keys=True), keys=True
        )
        assert decided is not None  # nobody else can move a locked head
        return decided.outcomes

    def lock(self, tx: Tx) -> None:
        """Take the head lock before posting, for a caller that must read what nobody can change meanwhile."""
        store.lock_head(tx.connection)
