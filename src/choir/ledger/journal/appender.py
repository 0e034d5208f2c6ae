"""Preparing drafts, reading what is needed to decide on them, and appending what is accepted, on one connection.

Guarantees: preparing needs no database and no lock; an append writes all of a round or nothing; the head of the journal
moves with it, from where it was read, or not at all. Whoever calls takes the lock, or finds out that others were
faster. It calls nobody back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Refusal
from choir.ledger import rules
from choir.ledger.journal import acceptance, links, store
from choir.ledger.journal.records import Decision, View
from choir.ledger.model import HOLD_ACCOUNTS, BatchTooLarge, Draft, HoldTerms, LinkedRefused, Posted, account_name
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Outcome, Prepared
from choir.storage.database import Connection

Group = Sequence[Draft | Refusal]  # drafts that stand or fall together; a refusal is one that was malformed
PreparedGroup = Sequence[Prepared | Refusal]

_REMEMBERED_MAX = 200_000  # account ids kept in memory; what is forgotten is looked up again


class Appender:
    """What all ways of posting share: it remembers which accounts there are, and nothing else."""

    def __init__(self, clock: Clock, entropy: Entropy, policy: LedgerPolicy) -> None:
        self.clock = clock
        self.entropy = entropy
        self.policy = policy
        self._account_ids: dict[str, int] = {}  # of committed accounts only; a name keeps its id for ever

    def forget_accounts(self) -> None:
        """Look the ids of accounts up again. They stay as they are, unless the database itself went back."""
        self._account_ids.clear()

    def known_accounts(self, groups: Sequence[Group]) -> dict[str, int] | None:
        """The accounts of drafts that are not checked yet, so that their balances can be looked up meanwhile.

        None where it is not worth it or not known enough: an unknown account, a hold, a draft that is none.
        """
        remembered = self._account_ids
        accounts: dict[str, int] = {}
        try:
            for group in groups:
                for draft in group:
                    if draft.hold is not None or draft.corrects is not None:  # type: ignore[union-attr]
                        return None
                    for leg in draft.legs:  # type: ignore[union-attr]
                        from_, to = leg.from_, leg.to
                        accounts[from_] = remembered[from_]
                        accounts[to] = remembered[to]
        except (AttributeError, KeyError, TypeError):  # a refusal, an account not met before, a malformed name
            return None
        return accounts

    def prepare_batch(self, groups: Sequence[Group]) -> list[PreparedGroup]:
        """Check drafts and give them their canonical form; this is the work that must not happen under the lock."""
        entries = sum([len(group) for group in groups])
        if entries > self.policy.batch_entries_max:
            raise BatchTooLarge(entries=entries, limit=self.policy.batch_entries_max)
        return [[self.prepare(draft) for draft in group] for group in groups]

    def prepare(self, draft: Draft | Refusal) -> Prepared | Refusal:
        """The same for one draft."""
        if isinstance(draft, Refusal):
            return draft
        try:
            if draft.memo is not None and not draft.memo_salt:
                draft = replace(draft, memo_salt=self.entropy.bytes(rules.MEMO_SALT_BYTES))
            return rules.prepare(draft, self.policy, self._account_ids)
        except Refusal as refusal:
            return refusal.with_traceback(None)

    def accounts(self, db: Connection, groups: Sequence[PreparedGroup], *, committed: bool) -> dict[str, int]:
        """The accounts of these drafts, as far as there are such accounts.

        `committed` says that nothing on this connection is waiting for a commit, so that what is read on it can be
        remembered.
        """
        names: set[str] = set()
        for item in _valid(groups):
            for leg in item.draft.legs:
                names.add(leg.from_)
                names.add(leg.to)
        return self._ids(db, names, committed=committed)

    def read(self, db: Connection, groups: Sequence[PreparedGroup], *, committed: bool, keys: bool) -> View:
        """What the database knows that is needed to decide on these.

        Without `keys` nothing is known of entries that have their keys already: then `append` raises `KeyUsed` or the
        unique index's refusal, and everything must be undone and done again with them.
        """
        return store.read_view(db, self.needs(db, groups, committed=committed, keys=keys))

    def append(self, db: Connection, groups: Sequence[PreparedGroup], view: View, *, keys: bool) -> Decision | None:
        """Decide and write. None: the head moved since the view was read, and nothing was written."""
        drafts = sum([len(group) for group in groups])
        random = self.entropy.bytes(links.ID_RANDOM_BYTES * drafts)
        now_us = self.clock.now_us()
        if drafts < store.FEW_ENTRIES:
            decision = acceptance.decide(groups, view, now_us, random, self.policy)
            if decision.refused and not keys:  # before the append, which may be a commit of its own
                _check_refused(db, groups, decision.outcomes)
            return decision if store.append_few(db, decision, view.head) else None
        decision = store.append_many(db, acceptance.Round(groups, view, now_us, random, self.policy), view.head)
        if decision.refused and not keys:
            _check_refused(db, groups, decision.outcomes)
        return decision

    def post_one(self, db: Connection, item: Prepared) -> Posted | None:
        """Post an entry of one leg and nothing else in one round trip; None: it takes a round.

        The connection commits by itself. A key that was used is the unique index's refusal.
        """
        [leg] = item.draft.legs
        payer, payee = self._account_ids.get(leg.from_), self._account_ids.get(leg.to)
        if payer is None or payee is None:
            return None
        chance = int.from_bytes(self.entropy.bytes(links.ID_RANDOM_BYTES)) & links.ID_CHANCE_MASK
        may_overdraw = account_name(leg.from_).may_overdraw
        return store.post_one(db, payer, payee, item, self.clock.now_us(), chance, may_overdraw=may_overdraw)

    def needs(self, db: Connection, groups: Sequence[PreparedGroup], *, committed: bool, keys: bool) -> store.Needs:
        """What has to be looked up to decide on these."""
        drafts = [item.draft for item in _valid(groups)]
        holds = [draft.hold for draft in drafts if draft.hold is not None]
        return store.Needs(
            sources=[draft.source for draft in drafts] if keys else [],
            keys=[draft.key for draft in drafts] if keys else [],
            accounts=self.accounts(db, groups, committed=committed),
            holds=list({hold.id for hold in holds}),
            corrected=list({draft.corrects for draft in drafts if draft.corrects is not None}),
            new_accounts=sum([isinstance(hold, HoldTerms) for hold in holds]),
        )

    def _ids(self, db: Connection, names: set[str], *, committed: bool) -> dict[str, int]:
        remembered = self._account_ids
        found: dict[str, int] = {}
        unknown: list[str] = []
        for name in names:
            id_ = remembered.get(name)
            if id_ is None:
                unknown.append(name)
            else:
                found[name] = id_
        if unknown:
            missing = store.account_ids(db, unknown)
            if committed:
                if len(remembered) > _REMEMBERED_MAX:
                    remembered.clear()
                remembered.update((name, id_) for name, id_ in missing.items() if not name.startswith(HOLD_ACCOUNTS))
            found |= missing
        return found


def _valid(groups: Sequence[PreparedGroup]) -> Iterator[Prepared]:
    return (item for group in groups for item in group if isinstance(item, Prepared))


class KeyUsed(Exception):
    """Something was refused whose key belongs to an entry that was accepted earlier."""


def _check_refused(db: Connection, groups: Sequence[PreparedGroup], outcomes: Sequence[Outcome]) -> None:
    """Raise if a refused entry had been accepted earlier: then the refusal is no answer."""
    drafts: list[Draft] = []
    start = 0
    for group in groups:
        if any(isinstance(outcome, Refusal) for outcome in outcomes[start : start + len(group)]):
            drafts += [item.draft for item in group if isinstance(item, Prepared)]
        start += len(group)
    if drafts and store.any_known(db, [draft.source for draft in drafts], [draft.key for draft in drafts]):
        raise KeyUsed


def all_posted(outcomes: Sequence[Outcome]) -> list[Posted]:
    """The acceptances of linked entries, or the refusal that kept them all out."""
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    for refusal in refusals:
        if not isinstance(refusal, LinkedRefused):
            raise refusal
    return [outcome for outcome in outcomes if isinstance(outcome, Posted)]
