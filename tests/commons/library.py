"""A desk whose articles cite each other and earn: events are handled and grants vest when the test says so."""

from __future__ import annotations

import random
from pathlib import Path

from choir.commons.articles.model import Article
from choir.commons.citations import store as citation_store
from choir.commons.citations.model import Citation
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import Publication
from choir.foundation.money import Asset
from choir.identity.model import Principal
from choir.ledger.model import Draft, Leg
from choir.storage.database import Database
from choir.treasury.accounts import CITATION_POOL, OPERATIONS, Treasury
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.rates.service import CitationRates
from choir.treasury.rounds import TreasuryRounds
from choir.treasury.vesting.service import Vesting
from tests.commons.desk import CLAIMS, DAY_S, TEXT, Desk, task

USDC = 1_000_000
WORLD = "world:test/external/USDC"
SAID = "The crew tuned the dampers twice in the summer of 2019."


_NOUNS = (
    "bridge",
    "cable",
    "tower",
    "wind",
    "river",
    "road",
    "crew",
    "report",
    "storm",
    "winter",
    "steel",
    "stone",
    "beam",
    "joint",
    "deck",
)
_VERBS = ("meets", "follows", "holds", "moves", "shows", "leaves", "finds", "carries", "needs", "keeps")


def prose(seed: int, sentences: int = 12) -> str:
    """Sentences that no other seed has: so that nothing is copied."""
    chance = random.Random(seed)

    def sentence() -> str:
        nouns, verbs = chance.choices(_NOUNS, k=3), chance.choices(_VERBS, k=2)
        return f"The {nouns[0]} {verbs[0]} a {nouns[1]} and the {nouns[2]} {verbs[1]} it."

    return " ".join(sentence() for _ in range(sentences))


def article_text(source: str, seed: int, more: str = "") -> str:
    """An article with three claims that its source supports, and one sentence that others may cite."""
    parts, lines = [], []
    for n, (label, (claim, quote)) in enumerate(CLAIMS.items()):
        parts += [f"[{claim}]{{#{label}}}.", prose(seed * 10 + n, 5)]
        start = TEXT.index(quote)
        lines.append(f"{label} supports {source}@{start}-{start + len(quote)} confidence=0.9")
    body = "\n\n".join([*parts, SAID, more or prose(seed * 10 + 9, 3)])
    return f"# On bridges, part {seed}\n\n{body}\n\n```evidence\n" + "\n".join(lines) + "\n```\n"


def prose_text(source: str, seed: int, words: str) -> str:
    """An article that says these words, with three claims that its source supports."""
    lines, said = [], []
    for label, (claim, quote) in CLAIMS.items():
        said.append(f"[{claim}]{{#{label}}}.")
        start = TEXT.index(quote)
        lines.append(f"{label} supports {source}@{start}-{start + len(quote)} confidence=0.9")
    evidence = "\n".join(lines)
    return f"# Part {seed}\n\n{words}\n\n{' '.join(said)}\n\n```evidence\n{evidence}\n```\n"


class Library(Desk):
    """Promoted articles that cite each other, and what they earn."""

    def __init__(self, database: Database, home: Path, **policy: object) -> None:
        # Reviews and windows are the business of other tests: here all windows are a day long.
        windows = CommonsPolicy(window_medium_s=DAY_S, window_high_s=DAY_S, words_per_binding=10_000)
        super().__init__(database, home, **({"commons": windows} | policy))
        self.subscribers = self.node.subscribers()
        self.treasury_rounds = TreasuryRounds(self.node)
        self.vesting = self.node.of(Vesting)
        self.payouts = self.node.of(CitationPayouts)
        self.rates = self.node.of(CitationRates)
        self.written = 0
        with self.tx() as tx:
            self.subscribers.register(tx)
            self.node.accounts.open(tx, [WORLD], reason="a test", source="test")
            self.node.of(Treasury).open(tx)

    # Money

    def fund_pool(self, usdc: int) -> None:
        with self.tx() as tx:
            leg = Leg(WORLD, CITATION_POOL, usdc)
            self.node.ledger.post(tx, Draft("deposit", "a test", "test", f"pool {self.clock.now_us()} {usdc}", (leg,)))

    def spend(self, who: Principal, usdc: int) -> None:
        """Somebody pays the treasury for good."""
        name = f"{who.source}/available/USDC"
        with self.tx() as tx:
            self.node.accounts.open(tx, [name], reason="a test", source="test")
            for n, leg in enumerate((Leg(WORLD, name, usdc), Leg(name, OPERATIONS, usdc))):
                key = f"spend {who.source} {self.clock.now_us()} {n}"
                self.node.ledger.post(tx, Draft("deposit", "a test", "test", key, (leg,)))

    def earned(self, who: Principal) -> int:
        """What is available to somebody, in units of USDC."""
        return self.balance(f"{who.source}/available/USDC")

    def vesting_of(self, who: Principal, kind: str, asset: Asset) -> int:
        return self.balance(f"{who.source}/vesting.{kind}/{asset.name}")

    def set_price(self, micro_usdc: int) -> None:
        governed, key = self.node.of(GovernedPrice), f"price {self.clock.now_us()}"
        self.write(lambda tx: governed.change(tx, "operator", micro_usdc, reason="a test", key=key))

    # Time

    def tend(self) -> None:
        super().tend()
        self.react()
        self.rounds.settle_months(task("commons.emission", ""))
        self.treasury_rounds.go_on(task("treasury.rounds", ""))
        self.react()

    def react(self) -> None:
        """Have every event handled, as the node's scheduler does."""
        handlers = self.subscribers.handlers()
        while self.subscribers.hand_out():
            with self.tx() as tx:
                waiting = tx.rows("select name, key from tasks where starts_with(name, 'event:') order by name, key")
            for name, key in waiting:
                with self.tx() as tx:
                    handlers[name](tx, task(name, key))
                    tx.run("delete from tasks where name = %s and key = %s", name, key)

    # Writing

    def write_article(
        self, who: Principal, *, cites: Publication | None = None, more: str = "", words: str = ""
    ) -> Article:
        """A draft with enough evidence; it may rest on what another article says."""
        self.written += 1
        source = self.source(who)
        text = prose_text(source.hash, self.written, words) if words else article_text(source.hash, self.written, more)
        article = self.draft(who, text)
        if cites is not None:
            citing = self.commons.citing
            claim = SAID.rstrip(".")
            self.write(lambda tx: citing.cite(tx, who, article.id, cites.article, claim, SAID))
        return article

    def publish(
        self, who: Principal, *, cites: Publication | None = None, more: str = "", words: str = ""
    ) -> Publication:
        """A version in its window."""
        article = self.write_article(who, cites=cites, more=more, words=words)
        return self.review(self.submit(who, article, f"k{self.written}"))

    def promote(
        self, who: Principal, *, cites: Publication | None = None, more: str = "", words: str = ""
    ) -> Publication:
        publication = self.publish(who, cites=cites, more=more, words=words)
        self.later(DAY_S)
        return self.publication(publication.id)

    def writer(self) -> Principal:
        """Somebody with enough CHIP for a few articles."""
        return self.person(chip=1_000)

    def reader(self, usdc: int = 100 * USDC) -> Principal:
        """A writer whose spend lets citations pay."""
        who = self.writer()
        if usdc:
            self.spend(who, usdc)
        return who

    def citations(self, cited: Publication) -> list[Citation]:
        with self.tx() as tx:
            return citation_store.of_article(tx, cited.article, None, 100)
