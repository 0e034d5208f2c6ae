"""What a submitter remembers of balances from one round to the next: the journal, folded as far as it was heard.

Guarantees: what it holds is true of one head, `head`, which is compared with the journal's own whenever it is used; of
a journal that went on it hears the news or forgets everything; accounts that are not open, and those of holds, are
never in it. It learns of a round after its commit only, so a round that failed leaves it where it was; interrupted
while it learns, it knows nothing. It is no larger than its limit and what one round needs. It belongs to whoever
leads: it is not thread-safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from choir.ledger import hashing
from choir.ledger.journal.records import NEWS_MAX, News, View
from choir.ledger.model import HOLD_ACCOUNTS, Head, Leg, Posted


class Memory:
    """Balances by the name of their account."""

    def __init__(self, accounts_max: int) -> None:
        self.head: Head | None = None
        self._accounts_max = accounts_max
        self._balances: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._balances)

    def knows(self, accounts: Iterable[str]) -> bool:
        """Whether all of these accounts are remembered."""
        return self.head is not None and self._balances.keys() >= set(accounts)

    def missing(self, accounts: Mapping[str, int]) -> dict[str, int]:
        """Those of the accounts whose balance is not remembered."""
        known = self._balances if self.head is not None else {}
        return {name: id_ for name, id_ in accounts.items() if name not in known}

    def view(self, accounts: dict[str, int]) -> View:
        """What a round that needs these accounts begins with; `KeyError` where one of them is not remembered."""
        assert self.head is not None
        known = self._balances
        return View(self.head, accounts, {id_: known[name] for name, id_ in accounts.items()})

    def hear(self, news: News) -> None:
        """Go on to where the journal is, with the balances that were asked for."""
        known, self.head = self.head, None  # who is interrupted on the way knows nothing
        if known is None or self._is_full or not self._take_in(known, news):
            self._balances = {}
        self._balances.update(news.balances)
        self.head = news.head

    def follow(self, view: View, after: Head) -> None:
        """Learn what a round did that began with this view and is committed."""
        if view.head != self.head:
            return  # it comes with the next news
        self.head = None
        balances = view.balances
        if view.states or view.holds:
            for name, id_ in view.ids.items():
                if id_ not in view.states and not name.startswith(HOLD_ACCOUNTS):
                    self._balances[name] = balances[id_]
        else:
            self._balances.update(zip(view.ids, map(balances.__getitem__, view.ids.values()), strict=True))
        if self._is_full:
            self._balances = {}
        self.head = after

    def follow_one(self, posted: Posted, content: str, leg: Leg) -> None:
        """Learn of one committed entry, if it stands right behind what is known."""
        head = self.head
        if head is None or posted.seq != head.seq + 1:
            return
        seqs = range(posted.seq, posted.seq + 1)
        if hashing.chain(head.hash, seqs, posted.at_us, [posted.id_bytes], [content]) != [posted.hash]:
            return  # it follows another entry than the one we know
        self.head = None
        self._move(leg.from_, -leg.amount)
        self._move(leg.to, leg.amount)
        self.head = Head(posted.seq, posted.hash, posted.at_us, head.acts, head.acts_hash)

    def _take_in(self, head: Head, news: News) -> bool:
        """Add the news to what is known, if they begin where that ends; says whether they do."""
        if (news.since_hash, news.since_acts_hash) != (head.hash, head.acts_hash):
            return False
        if len(news.contents) != news.head.seq - head.seq or len(news.changed) > NEWS_MAX:
            return False
        for content in news.contents:
            for leg in hashing.parse_legs(content):
                self._move(leg.from_, -leg.amount)
                self._move(leg.to, leg.amount)
        for name in news.changed:
            self._balances.pop(name, None)  # it may no longer be open
        return True

    def _move(self, name: str, amount: int) -> None:
        if name in self._balances:
            self._balances[name] += amount

    @property
    def _is_full(self) -> bool:
        """Whether to begin anew: which of so many are needed again is not known."""
        return len(self._balances) > self._accounts_max
