"""Citations: settled when the citing article is promoted, paid at the month's rate, taken back when one falls.

Guarantees: a pair of articles is paid for once, whatever is delivered twice; nobody is paid by their own identity; what
one owner's articles trigger in a month stays within their allowance, also when two are promoted at once; what is
beyond it is never owed. Locks: the citing owner, then what payouts lock, the ledger's head last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from choir.commons import events
from choir.commons.articles import store as article_store
from choir.commons.articles.model import article_id
from choir.commons.citations import rules, store
from choir.commons.citations.model import Citation, CitationState, Cited, UnknownCitation, citation_id
from choir.commons.citations.policy import CitationsPolicy
from choir.commons.novelty import store as novelty_store
from choir.commons.publication.model import Publication, PublicationState
from choir.commons.stakes.service import SOURCE
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.clusters.service import Clusters
from choir.identity.model import owner_id
from choir.identity.people import store as people_store
from choir.ledger import queries
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.model import Draft, Leg
from choir.ledger.service import Ledger
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.treasury import months
from choir.treasury.months import month_of
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.rates.service import CitationRates
from choir.treasury.vesting.service import Vesting

_CREDIT = f"{SOURCE}/issuance/CREDIT"


@dataclass(frozen=True, slots=True)
class _Valued:
    """A cited article and what citing it is worth."""

    cited: Cited
    independence_ppm: int
    shares: dict[str, int]  # weights of who is paid
    reasons: tuple[str, ...]
    asked: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an owner's articles may trigger in a month. Units of USDC."""

    month: str
    total: int
    used: int
    spent: int
    income: int
    vouched: bool


class Citations:
    """All inside the caller's transaction."""

    def __init__(
        self,
        clusters: Clusters,
        rates: CitationRates,
        payouts: CitationPayouts,
        vesting: Vesting,
        ledger: Ledger,
        accounts: Accounts,
        claims: Claims,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: CitationsPolicy,
        policy_hash: ObjectHash,
    ) -> None:
        self._clusters = clusters
        self._rates = rates
        self._payouts = payouts
        self._vesting = vesting
        self._ledger = ledger
        self._accounts = accounts
        self._claims = claims
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._policy_hash = policy_hash

    # When an article is promoted

    def settle(self, tx: Tx, publication: Publication) -> list[Citation]:
        """Note and pay what a promoted version cites and no earlier version of it did."""
        if publication.state is not PublicationState.PROMOTED or publication.promoted_us is None:
            return []  # it fell before this was reached
        article_store.lock_owner(tx, publication.owner)
        before = store.known(tx, publication.article)
        found = store.cited_by(tx, publication.synthesis, publication.article)
        new = store.still_promoted(tx, [item for item in found if item.article not in before])
        if not new:
            return []
        rate = self._rates.of(tx, publication.promoted_us).micro_usdc
        citing = article_store.authors(tx, publication.article)
        valued = [self._value(tx, citing, item, rate) for item in new]
        allowed = self.allowance(tx, publication.owner, month_of(publication.promoted_us))
        amounts = rules.capped([item.asked for item in valued], allowed.total - allowed.used)
        made = [
            self._note(tx, publication, rate, allowed, value, amount)
            for value, amount in zip(valued, amounts, strict=True)
        ]
        for item, value in zip(made, valued, strict=True):
            self._count(tx, citing, item)
            self._pay(tx, item, value.shares)
        return made

    def _value(self, tx: Tx, citing: Sequence[str], cited: Cited, rate: int) -> _Valued:
        """Each author of the cited article has an equal share, worth as much as they are independent."""
        authors = article_store.authors(tx, cited.article)
        found = {author: self._independence(tx, citing, author) for author in authors}
        independence = sum(item[0] for item in found.values()) // max(1, len(found))
        shares = {author: ppm for author, (ppm, _) in found.items() if ppm}
        reasons = tuple(dict.fromkeys(words for _, words in found.values() if words))
        asked = rate * independence // rules.FULL_PPM
        return _Valued(cited, independence, self._with_originals(tx, citing, cited, shares), reasons, asked)

    def _independence(self, tx: Tx, citing: Sequence[str], author: str) -> tuple[int, str]:
        """The least of what the citing authors have towards one author, and why it is less than all."""
        least, why = rules.FULL_PPM, ""
        for one in citing:
            cluster_bps = 0 if one == author else self._clusters.independence(tx, one, author)
            if not cluster_bps:
                return 0, "both articles are by one identity, or by identities that are taken for one"
            tie, words = rules.tie_ppm(store.ties(tx, one, author, self._policy.cycle_authors_max), self._policy)
            found = rules.independence_ppm(cluster_bps, tie)
            if found < least:
                least, why = found, words
        return least, why

    def _with_originals(self, tx: Tx, citing: Sequence[str], cited: Cited, shares: dict[str, int]) -> dict[str, int]:
        """Who wrote what the cited article nearly copied is paid out of its income, by their words."""
        words, copied = novelty_store.copied_words(tx, cited.publication)
        if not copied or not shares:
            return shares
        whole, left = sum(shares.values()), max(0, words - sum(copied.values()))
        found = {owner: weight * left for owner, weight in shares.items()}
        for original, n in copied.items():
            authors = article_store.authors(tx, original)
            for author in authors:
                if self._independence(tx, citing, author)[0]:
                    found[author] = found.get(author, 0) + whole * n // len(authors)
        return found

    def _note(
        self, tx: Tx, publication: Publication, rate: int, allowed: Allowance, value: _Valued, amount: int
    ) -> Citation:
        assert publication.promoted_us is not None
        now_us, reasons = self._clock.now_us(), value.reasons
        if amount < value.asked:
            reasons += (_lacking(allowed),)
        item = Citation(
            id=uuid7(now_us, 0, self._entropy.bytes(6)),
            citing=publication.id,
            citing_article=publication.article,
            cited=value.cited.publication,
            cited_article=value.cited.article,
            owner=publication.owner,
            month=month_of(publication.promoted_us),
            rate=rate,
            independence_ppm=value.independence_ppm,
            asked=value.asked,
            amount=amount,
            reasons=reasons,
            state=CitationState.PAID if amount else CitationState.UNPAID,
            at_us=publication.promoted_us,
        )
        store.insert(tx, item)
        self._announce(tx, item)
        return item

    def _count(self, tx: Tx, citing: Sequence[str], item: Citation) -> None:
        for one in citing:
            for author in article_store.authors(tx, item.cited_article):
                if one != author:
                    store.count_between(tx, one, author)

    def _pay(self, tx: Tx, item: Citation, shares: dict[str, int]) -> None:
        if not item.amount:
            return
        name = citation_id(item.id)
        self._payouts.pay(
            tx,
            key=name,
            shares=rules.split(item.amount, shares),
            weight_ppm=item.amount * rules.FULL_PPM // item.rate,
            month=item.month,
            subject=article_id(item.cited_article),
            refs=(name, article_id(item.citing_article), article_id(item.cited_article)),
            starts_us=item.at_us,
        )

    # The cap

    def allowance(self, tx: Tx, owner: str, month: str) -> Allowance:
        """What an owner's articles may trigger in a month, what they have, and what it comes from."""
        spent, income = self._spent(tx, owner, month), store.income_of(tx, owner, month)
        vouched = self._is_vouched_for(tx, owner)
        total = rules.allowance(spent, income, vouched=vouched, policy=self._policy)
        return Allowance(month, total, store.triggered(tx, owner, month), spent, income, vouched)

    @staticmethod
    def _spent(tx: Tx, owner: str, month: str) -> int:
        """What an owner paid the treasury for good: money that no friend of theirs can have received."""
        first, after = months.start_us(month), months.start_us(months.before(month, -1))
        return queries.paid_to(tx, f"{owner}/available/USDC", "treasury:", first, after)

    @staticmethod
    def _is_vouched_for(tx: Tx, owner: str) -> bool:
        return owner.startswith("person:") and people_store.count_vouches(tx, owner_id(owner)[1]) > 0

    def owed_to(self, tx: Tx, owner: str) -> int:
        """What the pool could not pay an owner yet."""
        return self._payouts.owed_to(tx, owner)

    # Afterwards

    def take_back(self, tx: Tx, publications: Collection[UUID]) -> None:
        """Versions were retracted for cause: what citations from them and of them have not vested goes back."""
        found = store.standing_with(tx, publications)
        for subject in sorted({article_id(item.cited_article) for item in found}):
            self._vesting.by_subject(tx, subject, lock=True)  # all of them before the ledger's head
        for item in found:
            store.set_state(tx, item.id, CitationState.TAKEN_BACK)
            subject, why = article_id(item.cited_article), "an article was retracted for cause"
            self._payouts.take_back(tx, subject, why, key=citation_id(item.id))

    def add_bonus(self, tx: Tx, owner: str, amount: int, at_us: int) -> None:
        """Income has vested at a moment: note it, and add CREDIT for every so much of it."""
        vested, credited = store.add_income(tx, owner, month_of(at_us), amount)
        due = vested // self._policy.bonus_every
        if due <= credited or not self._policy.bonus_credit:
            return
        store.set_credited(tx, owner, due)
        reason, account = "a bonus for citation income", f"{owner}/available/CREDIT"
        self._accounts.open(tx, [_CREDIT], reason=reason, source=SOURCE)
        place = self._claims.payable(tx, [account], reason=reason, source=SOURCE)[account]
        leg = Leg(_CREDIT, place, (due - credited) * self._policy.bonus_credit)
        key = f"citation-bonus:{owner}:{due}"
        self._ledger.post(tx, Draft("commons.bonus", reason, SOURCE, key, (leg,), policy=self._policy_hash))

    # Looking things up

    def get(self, tx: Tx, id_: UUID) -> Citation:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownCitation(citation=citation_id(id_))
        return found

    def of_article(self, tx: Tx, article: UUID, before: UUID | None, limit: int) -> list[Citation]:
        return store.of_article(tx, article, before, limit)

    def from_article(self, tx: Tx, article: UUID, before: UUID | None, limit: int) -> list[Citation]:
        return store.from_article(tx, article, before, limit)

    def _announce(self, tx: Tx, item: Citation) -> None:
        data = {
            "citation": citation_id(item.id),
            "citing": article_id(item.citing_article),
            "amount": str(item.amount),
            "independence_ppm": item.independence_ppm,
        }
        subject = article_id(item.cited_article)
        self._outbox.announce(tx, events.CITED, subject=subject, actor=SOURCE, data=data, audience=[EVERYONE])


def _lacking(allowed: Allowance) -> str:
    """Why a citation pays less than it is worth."""
    if allowed.total:
        return f"the citing author's allowance of {allowed.month} is used up"
    return f"the citing author has no allowance in {allowed.month}: nobody vouches for them, and they paid no USDC"
