"""The commons as a whole: its services put together, for the node and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.commons.articles import store as article_store
from choir.commons.articles.service import Articles
from choir.commons.assertions.service import Assertions
from choir.commons.atoms.service import AtomLifecycle, Atoms
from choir.commons.bundles.service import Bundles
from choir.commons.challenges import store as challenge_store
from choir.commons.challenges.service import Challenges
from choir.commons.citations.citing import Citing
from choir.commons.citations.earnings import Earnings
from choir.commons.citations.policy import CitationsPolicy
from choir.commons.citations.service import Citations
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.novelty.service import Novelty
from choir.commons.passages.index import PassageIndex
from choir.commons.passages.models import embedder_of
from choir.commons.policy import CommonsPolicy, SourcesPolicy, VerifiersPolicy
from choir.commons.publication import store as publication_store
from choir.commons.publication.evidence import EvidenceReader
from choir.commons.publication.reading import ArticleReading
from choir.commons.publication.referee import Referee
from choir.commons.publication.service import Publications
from choir.commons.receipts import Receipts
from choir.commons.revisions.service import Revisions
from choir.commons.search.policy import SearchPolicy
from choir.commons.search.service import Search
from choir.commons.sources.fetching import Fetcher
from choir.commons.sources.reader import DocumentReader
from choir.commons.sources.service import Sources
from choir.commons.stakes.service import Stakes
from choir.commons.takedowns.service import Takedowns
from choir.feature import Base
from choir.identity.clusters.service import Clusters
from choir.identity.delegations.spending import Spending
from choir.identity.keys.signer import LocalSigner
from choir.identity.repeats import Repeats
from choir.ledger.accounts import Accounts
from choir.ledger.claims import Claims
from choir.ledger.keys import NodeKeys
from choir.ledger.service import Ledger
from choir.objects.service import Objects
from choir.storage.database import Tx
from choir.treasury.accounts import Treasury
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.rates.service import CitationRates
from choir.treasury.vesting.service import Vesting


@dataclass(frozen=True, slots=True)
class Commons:
    """The services of sources, atoms, articles, publication, challenges and revisions."""

    atoms: Atoms
    sources: Sources
    articles: Articles
    publications: Publications
    challenges: Challenges
    revisions: Revisions
    assertions: Assertions
    reading: ArticleReading
    bundles: Bundles
    stakes: Stakes
    referee: Referee
    reader: DocumentReader
    index: PassageIndex
    novelty: Novelty
    citations: Citations
    citing: Citing
    earnings: Earnings
    search: Search
    takedowns: Takedowns

    def forget(self, tx: Tx, owner: str) -> None:
        """An owner is erased: what nobody else has seen goes; what was published stays, without saying by whom."""
        self.revisions.forget(tx, owner)
        challenge_store.forget(tx, owner)
        publication_store.forget(tx, owner)
        article_store.forget(tx, owner)
        self.atoms.forget(tx, owner)

    @staticmethod
    def check_not_ours(tx: Tx, hold: UUID) -> None:
        """Raise if a hold is part of a stake that is still needed."""
        Stakes.check_not_ours(tx, hold)


def assemble(base: Base) -> Commons:
    """Put the services together."""
    objects, clock, entropy, keys = base.of(Objects), base.clock, base.entropy, base.of(NodeKeys)
    policy, repeats = base.policy.of(CommonsPolicy), base.of(Repeats)
    lifecycle = AtomLifecycle(base.outbox, clock)
    atoms = Atoms(lifecycle, objects, base.of(LocalSigner), keys, clock, base.policy)
    reader = DocumentReader(base.policy.of(SourcesPolicy))
    fetcher = Fetcher(base.policy.of(SourcesPolicy))
    index = PassageIndex(embedder_of(base.settings), base.policy.of(NoveltyPolicy))
    sources = Sources(atoms, objects, reader, fetcher, index, clock, base.policy.of(SourcesPolicy))
    referee = Referee(reader, policy, base.policy.of(VerifiersPolicy))
    stakes = Stakes(
        base.of(Spending), base.of(Accounts), base.of(Claims), base.of(Treasury), clock, policy, base.policy_hash
    )
    receipts = Receipts(objects, keys, clock, base.policy_hash)
    articles = Articles(repeats, clock, entropy, policy)
    evidence = EvidenceReader(sources, atoms, referee, policy)
    clusters, vesting = base.of(Clusters), base.of(Vesting)
    novelty = Novelty(index, clusters, base.of(Accounts), vesting, clock, base.policy.of(NoveltyPolicy))
    publications = Publications(
        articles, atoms, sources, evidence, novelty, stakes, receipts, base.outbox, clock, entropy, policy
    )
    citations = Citations(
        clusters,
        base.of(CitationRates),
        base.of(CitationPayouts),
        vesting,
        base.of(Ledger),
        base.of(Accounts),
        base.of(Claims),
        base.outbox,
        clock,
        entropy,
        base.policy.of(CitationsPolicy),
        base.policy_hash,
    )
    needed = policy.rulings_production if base.identity.production else policy.rulings_development
    challenges = Challenges(
        articles,
        publications,
        atoms,
        sources,
        referee,
        stakes,
        receipts,
        clusters,
        repeats,
        base.outbox,
        clock,
        entropy,
        policy,
        rulings_needed=needed,
    )
    search = Search(articles, atoms, index, clock, base.policy.of(SearchPolicy))
    return Commons(
        atoms=atoms,
        sources=sources,
        articles=articles,
        publications=publications,
        challenges=challenges,
        revisions=Revisions(articles, stakes, repeats, base.outbox, clock, entropy, policy),
        assertions=Assertions(articles, atoms, publications, policy, base.policy.of(VerifiersPolicy)),
        reading=ArticleReading(articles, publications, atoms, sources, objects),
        bundles=Bundles(publications, atoms, objects, keys, clock, policy),
        stakes=stakes,
        referee=referee,
        reader=reader,
        index=index,
        novelty=novelty,
        citations=citations,
        citing=Citing(articles, sources, policy),
        earnings=Earnings(citations, clock),
        search=search,
        takedowns=Takedowns(articles, search, base.outbox, clock, entropy, policy),
    )
