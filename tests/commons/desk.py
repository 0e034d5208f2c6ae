"""A writer's desk on a fresh database: people with CHIP, sources and articles, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from choir.commons.articles.model import Article
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Atom, Kind
from choir.commons.atoms.schemas import Synthesis
from choir.commons.atoms.service import FLAG
from choir.commons.challenges.model import Challenge, Ground
from choir.commons.challenges.service import JUDGE
from choir.commons.composition import Commons
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.publication.model import Publication, Quote
from choir.commons.publication.service import REVIEW, ExaminedDraft
from choir.commons.rounds import CommonsRounds
from choir.commons.sources.model import SourceRecord
from choir.commons.stakes.service import available, starter_of
from choir.feature import load_features
from choir.features import FEATURES
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy
from choir.foundation.money import Asset
from choir.foundation.settings import load_settings
from choir.identity.delegations.rules import new_id
from choir.identity.model import Principal, Role
from choir.ledger import queries
from choir.ledger.model import Draft, Leg, UnknownAccount
from choir.node import Node
from choir.operations.home import prepare_home
from choir.policies import default_policy
from choir.storage.database import Database, Tx
from choir.storage.identity import make_identity, read_identity
from choir.storage.tasks import Task
from choir.treasury.accounts import HOLDINGS, INSURANCE, VERIFIER_FUND
from tests.identity.agency import START_US, session

T = TypeVar("T")

CHIP = 1_000_000
DAY_S = 86_400
MINT = "world:test/external/CHIP"
GIFTS = "system:gifts/issuance/CHIP"
OPERATOR = Principal(Role.OPERATOR, "operator")
TEXT = (
    "The survey covered 120 bridges in 14 countries. Wind caused vibration in 45 of the 120 bridges.\n\n"
    "Dr. Osei measured the cables at night. The dampers reduced vibration by 60 percent in 2019.\n\n"
    "The committee did not recommend closing any bridge. Every bridge was inspected twice a year."
)
CLAIMS = {
    "c1": ("Wind caused vibration in 45 of the 120 bridges", "Wind caused vibration in 45 of the 120 bridges."),
    "c2": (
        "In 2019 the dampers reduced vibration by 60 percent",
        "The dampers reduced vibration by 60 percent in 2019.",
    ),
    "c3": ("The committee did not recommend closing any bridge", "The committee did not recommend closing any bridge."),
}


_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]
# Enough words around the claims that the article is of low risk.
FILLER = " ".join(f"This is remark number {word} of the author." for word in _NUMBERS * 3)


def markdown(source: str, text: str = TEXT, *, title: str = "Why bridges hum", more: str = "") -> str:
    """An article with three claims that its source supports."""
    body = "\n\n".join(f"We read that [{claim}]{{#{label}}}." for label, (claim, _) in CLAIMS.items())
    lines = []
    for label, (_, quote) in CLAIMS.items():
        start = text.index(quote)
        lines.append(f"{label} supports {source}@{start}-{start + len(quote)} confidence=0.9")
    return f"# {title}\n\n{body}\n\n{FILLER}\n\n{more}\n\n```evidence\n" + "\n".join(lines) + "\n```\n"


class Desk:
    """Everything of the commons that tests touch; background work is done when the test says so."""

    def __init__(self, database: Database, home: Path, **policy: object) -> None:
        self.database = database
        self.clock = ManualClock(START_US)
        entropy = SeededEntropy(7)
        settings = load_settings({"home": str(home)}, {})
        prepare_home(settings, entropy)
        with database.unit_of_work() as tx:
            make_identity(tx.connection, "dev", self.clock, entropy)
        with database.unit_of_work() as tx:
            identity = read_identity(tx)
        # Most tests publish one text again and again; those of novelty say otherwise.
        numbers = default_policy().replaced(NoveltyPolicy(score_min=0)).replaced(*policy.values())
        self.node = Node(settings, numbers, identity, self.clock, entropy, database, load_features(FEATURES))
        with self.tx() as tx:
            self.node.keys.record_first(tx)
            self.node.accounts.open(tx, [MINT, GIFTS], reason="a test", source="test")
        self.commons = self.node.of(Commons)
        self.rounds = CommonsRounds(self.node)
        self.entropy = entropy
        self.people = 0

    def close(self) -> None:
        self.commons.reader.close()

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.database.unit_of_work() as tx:
            yield tx

    def write(self, work: Callable[[Tx], T]) -> T:
        return self.node.write(work)

    # People

    def person(self, chip: int = 0, starter: int = 0) -> Principal:
        self.people += 1
        id_ = new_id(self.clock.now_us(), self.entropy.bytes(8))
        with self.tx() as tx:
            tx.run(
                "insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, %s)",
                id_, f"person{self.people}", self.entropy.bytes(32), self.clock.now_us(),
            )  # fmt: skip
        who = session(id_)
        names = [available(who.source), starter_of(who.source)]
        legs = [(MINT, names[0], chip), (GIFTS, names[1], starter)]
        with self.tx() as tx:
            self.node.accounts.open(tx, names, reason="a test", source="test")
            found = tuple(Leg(a, b, amount * CHIP) for a, b, amount in legs if amount)
            if found:
                self.node.ledger.post(tx, Draft("deposit", "a test", "test", f"fund {who.source}", found))
        return who

    def balance(self, account: str) -> int:
        with self.tx() as tx:
            try:
                return queries.balance(tx, account).balance
            except UnknownAccount:
                return 0

    def own(self, who: Principal) -> int:
        return self.balance(available(who.source))

    def starter(self, who: Principal) -> int:
        return self.balance(starter_of(who.source))

    def treasury(self) -> tuple[int, int, int]:
        """Holdings, insurance and verifier fund."""
        return self.balance(HOLDINGS), self.balance(INSURANCE), self.balance(VERIFIER_FUND)

    def held(self) -> int:
        """All CHIP that is held for something."""
        with self.tx() as tx:
            return sum(
                line.balance for line in queries.trial_balance(tx) if line.asset == "CHIP" and line.role == "escrow"
            )

    # Writing

    def source(self, who: Principal, text: str = TEXT, title: str = "A survey") -> SourceRecord:
        document = self.commons.sources.prepare(text.encode(), "text/plain", "survey.txt")
        return self.write(lambda tx: self.commons.sources.add(tx, who, document, origin="file", title=title))[0]

    def draft(self, who: Principal, text: str, topics: list[str] | None = None) -> Article:
        read = self.commons.articles.read(text, None, topics)
        return self.write(lambda tx: self.commons.articles.create(tx, who, read))[0]

    def submit(self, who: Principal, article: Article, key: str = "k") -> Publication:
        publications = self.commons.publications
        examined = publications.make_ready(self.node.read, who, self.examine(who, article.id))
        return self.write(lambda tx: publications.publish(tx, who, examined, key))[0]

    def examine(self, who: Principal, article: UUID) -> ExaminedDraft:
        return self.commons.publications.examine(self.node.read, who, article)

    def quote(self, who: Principal, article: Article) -> Quote:
        examined = self.examine(who, article.id)
        with self.tx() as tx:
            return self.commons.publications.quote(tx, who, examined)

    def review(self, publication: Publication) -> Publication:
        self.rounds.review(task(REVIEW, str(publication.id)))
        return self.publication(publication.id)

    def publication(self, id_: UUID) -> Publication:
        from choir.commons.publication import store

        with self.tx() as tx:
            found = store.get(tx, id_)
        assert found is not None
        return found

    def published(self, who: Principal, text: str | None = None, key: str = "k") -> Publication:
        """A version in its window."""
        source = self.source(who)
        article = self.draft(who, text or markdown(source.hash))
        return self.review(self.submit(who, article, key))

    def promoted(self, who: Principal, text: str | None = None, key: str = "k") -> Publication:
        publication = self.published(who, text, key)
        self.later(8 * DAY_S)
        return self.publication(publication.id)

    # Time

    def later(self, seconds: int) -> None:
        """Let time pass, and the node do what is due then."""
        self.clock.advance(seconds)
        self.tend()

    def tend(self) -> None:
        self.rounds.go_on(task("commons.rounds", ""))

    def flag(self, atom: Atom) -> None:
        self.rounds.flag(task(FLAG, str(atom.id)))

    # Challenging

    def challenge(
        self, who: Principal, atom: ObjectHash, ground: Ground, pointers: tuple[str, ...] = (), key: str | None = None
    ) -> Challenge:
        challenges = self.commons.challenges
        return self.write(lambda tx: challenges.open(tx, who, atom, ground, "It is wrong.", pointers, key))[0]

    def judge(self, challenge: Challenge) -> Challenge:
        self.rounds.judge(task(JUDGE, str(challenge.id)))
        with self.tx() as tx:
            return self.commons.challenges.get(tx, challenge.id)

    def rule(self, challenge: Challenge, *, upheld: bool, by: str = "operator") -> Challenge:
        operator = Principal(Role.OPERATOR, by)
        challenges = self.commons.challenges
        return self.write(lambda tx: challenges.rule(tx, operator, challenge.id, upheld=upheld, reasoning="so it is"))

    # Atoms

    def synthesis(self, publication: Publication) -> Atom:
        with self.tx() as tx:
            return atom_store.by_id(tx, publication.synthesis)

    def bindings(self, publication: Publication) -> list[Atom]:
        """In the order of the article's evidence."""
        with self.tx() as tx:
            content = self.commons.atoms.content(tx, atom_store.by_id(tx, publication.synthesis).hash)
            assert isinstance(content, Synthesis)
            found = atom_store.find(tx, [ObjectHash(name) for name in content.bindings])
            return [found[ObjectHash(name)] for name in content.bindings]

    def bundle(self, publication: Publication) -> dict[Kind, set[str]]:
        """The states of all that a version brings, by kind."""
        from choir.commons.publication import store

        with self.tx() as tx:
            found: dict[Kind, set[str]] = {}
            for id_ in store.atoms(tx, publication.id):
                atom = atom_store.by_id(tx, id_)
                found.setdefault(atom.kind, set()).add(atom.state.value)
        return found


def task(name: str, key: str) -> Task:
    return Task(name, key, 0, {}, None, 0, 1)


def chip(amount: float) -> int:
    return int(amount * CHIP)


def shown(amount: int) -> str:
    return Asset.CHIP.format(amount)


def seconds_us(seconds: int) -> int:
    return seconds * MICROSECONDS
