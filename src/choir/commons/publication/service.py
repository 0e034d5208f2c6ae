"""Publishing: quote, stake and fee, review, window, promotion, and what becomes of the stake.

Guarantees: a version is under way exactly when its stake is held; it is reviewed once, promoted once and its stake
ended once, whatever is killed or sent twice; nothing is promoted while somebody challenges it. Locks: the owner, the
article, its publication, atoms by their numbers, the stake, the ledger's head last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from choir.commons import events
from choir.commons.articles import store as article_store
from choir.commons.articles.model import Article, ArticleBusy, ArticleState, ParsedArticle, article_id
from choir.commons.articles.rendering import Quote as Quoted
from choir.commons.articles.rendering import plain_text
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Act, Actor, Atom, Condition, Kind, State
from choir.commons.atoms.schemas import Origin, Synthesis
from choir.commons.atoms.service import Atoms, Signed
from choir.commons.novelty.model import NoveltyQuote
from choir.commons.novelty.service import Novelty, NoveltyLook
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import assembly, rules, store
from choir.commons.publication.evidence import EvidenceLook, EvidenceReader, Transact
from choir.commons.publication.model import (
    LIVE,
    STANDING,
    ChallengeOpen,
    CheckedBinding,
    NothingToRetract,
    NotPublishable,
    NotYoursToRetract,
    Problem,
    Publication,
    PublicationState,
    Quote,
    Risk,
    UnknownPublication,
    publication_id,
)
from choir.commons.publication.referee import BINDING_VALIDITY, attestation
from choir.commons.receipts import Receipts
from choir.commons.sources.model import MediaType, PreparedDocument, ReadText
from choir.commons.sources.service import Sources
from choir.commons.sources.text import normalise
from choir.commons.stakes import store as stake_store
from choir.commons.stakes.model import Purpose, Stake, TooLittleChip
from choir.commons.stakes.rules import Contribution, contribution
from choir.commons.stakes.service import SOURCE, Stakes
from choir.commons.statements import in_a_line
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.ids import uuid7
from choir.foundation.words import count
from choir.identity.model import KeyReused, Principal, Role
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.storage.tasks import schedule

REVIEW = "commons.review"  # the task that reviews a version
REFEREE = Principal(Role.OPERATOR, SOURCE)  # as whom the node reads what it judges
ARTICLE_READER = "article/1"  # how the text of an article is made
_REASON_CHARS_MAX = 500  # of a reason in the log of states

_STATES = {
    PublicationState.IN_REVIEW: ArticleState.IN_REVIEW,
    PublicationState.IN_WINDOW: ArticleState.IN_WINDOW,
    PublicationState.PROMOTED: ArticleState.PROMOTED,
    PublicationState.REFUSED: ArticleState.REFUSED,
    PublicationState.DEMOTED: ArticleState.DEMOTED,
    PublicationState.RETRACTED: ArticleState.RETRACTED,
}


@dataclass(frozen=True, slots=True)
class ExaminedDraft:
    """A draft and what was seen of its evidence. Drafts never change once they are saved."""

    article: UUID
    n: int
    named: bool  # whether it was asked for by its number; else it was the newest
    read: ParsedArticle
    look: EvidenceLook
    novelty: NoveltyLook
    bundle: assembly.Bundle | None = None  # what publishing would make, and the signatures of it, if made ready
    signed: Signed = field(default_factory=dict)


class Publications:
    """Use cases of publishing; all inside the caller's transaction."""

    def __init__(
        self,
        articles: Articles,
        atoms: Atoms,
        sources: Sources,
        evidence: EvidenceReader,
        novelty: Novelty,
        stakes: Stakes,
        receipts: Receipts,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: CommonsPolicy,
    ) -> None:
        self._articles = articles
        self._atoms = atoms
        self._sources = sources
        self.evidence = evidence
        self.novelty = novelty
        self._stakes = stakes
        self._receipts = receipts
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    # Before anything is staked

    def examine(self, transact: Transact, who: Principal, id_: UUID, draft: int | None = None) -> ExaminedDraft:
        """Read a draft and look at all its evidence; takes a while and holds no transaction meanwhile."""
        with transact() as tx:
            article = self._articles.get(tx, who, id_)
            found = self._articles.draft(tx, who, article.id, draft)
        read = self._articles.read(found.text, found.title, list(found.topics))
        look = self.evidence.look(transact, who, read)
        novelty = self.novelty.look(transact, id_, owner_of(who), read, look.private)
        return ExaminedDraft(id_, found.n, draft is not None, read, look, novelty)

    def make_ready(self, transact: Transact, who: Principal, examined: ExaminedDraft) -> ExaminedDraft:
        """Put together and sign what publishing would make: publishing holds locks, and shall only write then."""
        if not examined.look.complete:
            return examined  # it will be refused
        with transact() as tx:
            previous = self._previous(tx, examined.article)
            bundle = self._bundle(examined, previous)
            names = [assembly.name_of(content) for content in bundle.contents]
            signed = self._atoms.sign(tx, who, owner_of(who), names)
        return replace(examined, bundle=bundle, signed=signed)

    @staticmethod
    def _bundle(examined: ExaminedDraft, previous: ObjectHash | None) -> assembly.Bundle:
        """The one that was made ready, unless another version was published since."""
        ready = examined.bundle
        if ready is not None and ready.synthesis.previous == previous:
            return ready
        look = examined.look
        return assembly.assemble(article_id(examined.article), examined.read, look.spans, look.cited, previous)

    def quote(self, tx: Tx, who: Principal, examined: ExaminedDraft) -> Quote:
        """What publishing a draft would cost, and everything that would keep it from being promoted."""
        return self._quote(tx, owner_of(who), examined)

    def _quote(self, tx: Tx, owner: str, examined: ExaminedDraft) -> Quote:
        policy, read, look = self._policy, examined.read, examined.look
        novelty = self.novelty.quote(examined.novelty)
        risk = self._risk(tx, owner, read, novelty.score)
        share, too_little = self._contribution(tx, owner)
        problems = (*look.problems, *rules.problems_of(read, look.bindings, risk.tier, policy), *_too_old(novelty))
        return Quote(
            stake=policy.publish_stake,
            fee=policy.publish_fee,
            contribution=share,
            too_little=too_little,
            risk=risk,
            window_s=rules.window_s(risk.tier, policy),
            words=read.words,
            bindings=look.bindings,
            verified=sum(map(rules.counts, look.bindings)),
            needed=rules.bindings_needed(read.words, policy),
            high_impact=rules.high_impact(read, risk.tier),
            publishes=look.private,
            novelty=novelty,
            problems=problems,
        )

    def _risk(self, tx: Tx, owner: str, read: ParsedArticle, novelty: int) -> Risk:
        survival = rules.survival_bps(*store.record(tx, owner))
        return rules.risk_of(len(read.claims), read.words, read.topics, novelty, survival, self._policy)

    def _contribution(self, tx: Tx, owner: str) -> tuple[Contribution | None, str]:
        funds = self._stakes.funds(tx, owner, newcomer=not store.has_published(tx, owner))
        try:
            return contribution(self._policy.publish_stake, self._policy.publish_fee, funds, self._policy), ""
        except TooLittleChip as error:
            return None, str(error)

    # Publishing

    def publish(self, tx: Tx, who: Principal, examined: ExaminedDraft, key: str) -> tuple[Publication, bool]:
        """Stake a draft and hand it to the review; the same key publishes once. Says whether it is new."""
        owner, id_ = owner_of(who), examined.article
        article_store.lock_owner(tx, owner)
        article = self._articles.lock_own(tx, who, id_)
        known = store.by_key(tx, owner, key)
        if known is not None:
            # The same request finds what it made, also if a newer draft was saved since.
            if known.article != id_ or (examined.named and known.draft != examined.n):
                raise KeyReused
            return known, False
        self._articles.must_be_up(tx, id_)
        if article.state in (ArticleState.IN_REVIEW, ArticleState.IN_WINDOW):
            raise ArticleBusy(article=article_id(id_), state=article.state.value)
        quote = self._quote(tx, owner, examined)
        if quote.problems:
            raise NotPublishable(why=quote.problems[0].words, problems=len(quote.problems))
        if quote.contribution is None:
            self._raise_too_little(tx, owner)
        return self._submit(tx, who, owner, article, key, examined, quote), True

    def _raise_too_little(self, tx: Tx, owner: str) -> None:
        funds = self._stakes.funds(tx, owner, newcomer=not store.has_published(tx, owner))
        contribution(self._policy.publish_stake, self._policy.publish_fee, funds, self._policy)

    def _submit(
        self,
        tx: Tx,
        who: Principal,
        owner: str,
        article: Article,
        key: str,
        examined: ExaminedDraft,
        quote: Quote,
    ) -> Publication:
        read, now_us = examined.read, self._clock.now_us()
        id_, stake = (uuid7(now_us, n, self._entropy.bytes(6)) for n in (0, 1))
        synthesis = self._make_atoms(tx, who, owner, examined)
        bundle = self._stake_atoms(tx, who, id_, synthesis)
        assert quote.contribution is not None
        receipt = self._receipt(tx, who, owner, article, synthesis.hash, quote)
        publication = Publication(
            id=id_,
            article=article.id,
            version=article.versions + 1,
            draft=examined.n,
            synthesis=synthesis.id,
            owner=owner,
            actor=who.source,
            key=key,
            state=PublicationState.IN_REVIEW,
            stake=stake,
            fee=quote.fee,
            risk_bps=quote.risk.total_bps,
            tier=quote.risk.tier,
            receipt=receipt,
            review=None,
            submitted_us=now_us,
            reviewed_us=None,
            window_until_us=None,
            promoted_us=None,
            stake_due_us=None,
            ended_us=None,
        )
        article = replace(article, versions=publication.version, title=read.title, topics=read.topics)
        self._set_article(tx, article, publication)
        self._announce(tx, events.SUBMITTED, publication, who.source)
        schedule(tx, REVIEW, str(id_), now_us)
        self._fix_novelty(tx, publication, examined.novelty, bundle)
        refs = (article_id(article.id), publication_id(id_), synthesis.hash)
        self._stakes.place(tx, who, owner, stake, Purpose.ARTICLE, quote.contribution, refs=refs, receipt=receipt)
        store.insert(tx, publication, [atom.id for atom in bundle])
        return publication

    def _fix_novelty(self, tx: Tx, publication: Publication, look: NoveltyLook, bundle: Sequence[Atom]) -> None:
        """Somebody may have submitted nearly the same meanwhile; then nothing is staked."""
        sources = [atom.id for atom in bundle if atom.kind is Kind.SOURCE]
        problems = _too_old(self.novelty.fix(tx, publication, look, sources))
        if problems:
            raise NotPublishable(why=problems[0].words, problems=1)

    def _make_atoms(self, tx: Tx, who: Principal, owner: str, examined: ExaminedDraft) -> Atom:
        """Keep all that the draft brings, and the article's own text as a source for others."""
        read, look = examined.read, examined.look
        self._check_not_retracted(tx, examined)
        bundle = self._bundle(examined, self._previous(tx, examined.article))
        made = self._atoms.make(tx, who, bundle.contents, owner=owner, signed=examined.signed)
        synthesis = made[-1]
        if any(atom.kind is Kind.SOURCE for atom in atom_store.carries(tx, synthesis.id, 10)):
            return synthesis  # it was published before, and its text is there
        text = normalise(plain_text(read, {pointer: Quoted(words, "") for pointer, words in look.spans.items()}))
        document = PreparedDocument(read.markdown.encode(), MediaType.MARKDOWN, ReadText(text, ARTICLE_READER))
        origin = Origin(type="article", article=synthesis.hash)
        self._sources.keep(tx, who, owner, document, origin, read.title)
        return synthesis

    @staticmethod
    def _previous(tx: Tx, id_: UUID) -> ObjectHash | None:
        newest = store.version(tx, id_, None)
        return None if newest is None else _hash_of(tx, newest.synthesis)

    def _check_not_retracted(self, tx: Tx, examined: ExaminedDraft) -> None:
        """Raise if this very text was retracted. A version that was demoted may be published again."""
        for item in store.versions(tx, examined.article):
            atom = atom_store.by_id(tx, item.synthesis)
            content = self._atoms.content(tx, atom.hash) if atom.state is State.RETRACTED else None
            if isinstance(content, Synthesis) and content.text == examined.read.markdown:
                raise NotPublishable(why="this very text was retracted; a correction is another text", problems=1)

    def _stake_atoms(self, tx: Tx, who: Principal, id_: UUID, synthesis: Atom) -> list[Atom]:
        """Open everything that the article brings, and put what is not promoted yet at stake."""
        locked = atom_store.lock(tx, [atom.id for atom in self.footing(tx, synthesis.id)])
        gone = [atom for atom in locked if atom.state is State.RETRACTED]
        if gone:
            raise NotPublishable(why=f"it rests on {gone[0].hash}, which was retracted", problems=len(gone))
        # What is promoted already has stood its own window; this version brings the rest.
        return self._put_at_stake(tx, who, id_, [atom for atom in locked if atom.state is not State.PROMOTED])

    @staticmethod
    def footing(tx: Tx, synthesis: int) -> list[Atom]:
        """An article, its text as a source, and everything that they rest on."""
        own_text = [atom.id for atom in atom_store.carries(tx, synthesis, 10) if atom.kind is Kind.SOURCE]
        return atom_store.footing(tx, [synthesis, *own_text])

    def _put_at_stake(self, tx: Tx, who: Principal, id_: UUID, atoms: Sequence[Atom]) -> list[Atom]:
        move, by = self._atoms.lifecycle.move, who.source
        evidence = {"publication": publication_id(id_)}
        private = [atom for atom in atoms if atom.state is State.UNTRUSTED]
        shown = (Condition.CHECKED,)
        opened = move(tx, private, Act.OFFER, Actor.MAKER, by, shown, reason="published", evidence=evidence)
        waiting = [*opened, *(atom for atom in atoms if atom.state is State.QUARANTINED)]
        both = (Condition.CHECKED, Condition.STAKED)
        staked = move(tx, waiting, Act.STAKE, Actor.PROMOTER, by, both, reason="staked", evidence=evidence)
        return [*staked, *(atom for atom in atoms if atom.state is State.PENDING)]

    def _receipt(
        self, tx: Tx, who: Principal, owner: str, article: Article, synthesis: ObjectHash, quote: Quote
    ) -> ObjectHash:
        return self._receipts.sign(
            tx,
            who,
            owner,
            "commons.publish",
            budget=quote.stake + quote.fee,
            spent=quote.fee,
            objects={"article": article_id(article.id), "synthesis": synthesis},
            verifiers={"commons": self.evidence.referee.version},
            outcome="submitted",
        )

    # The review

    def case(self, tx: Tx, id_: UUID) -> ParsedArticle | None:
        """What a review has to look at; None: it is over."""
        found = store.get(tx, id_)
        if found is None or found.state is not PublicationState.IN_REVIEW:
            return None
        content = self._atoms.content(tx, _hash_of(tx, found.synthesis))
        assert content.kind == "SYNTHESIS"
        return self._articles.read(content.text, content.title, list(content.topics))

    def conclude(self, tx: Tx, id_: UUID, read: ParsedArticle, look: EvidenceLook) -> Publication:
        """Attest each binding and open the window, or send everything back."""
        publication = self._locked(tx, id_)
        if publication.state is not PublicationState.IN_REVIEW:
            return publication
        problems = [*look.problems, *rules.problems_of(read, look.bindings, publication.tier, self._policy)]
        missing = self._attest(tx, publication, read, look)
        if missing:
            problems.append(Problem("attestation", f"{count(missing, 'binding')} could not be attested"))
        now_us = self._clock.now_us()
        report = self._report(tx, publication, problems, look)
        publication = replace(publication, review=report, reviewed_us=now_us)
        if problems:
            return self._refuse(tx, publication, problems)
        until_us = now_us + rules.window_s(publication.tier, self._policy) * MICROSECONDS
        publication = replace(publication, state=PublicationState.IN_WINDOW, window_until_us=until_us)
        self._save(tx, publication)
        self._announce(tx, events.REVIEWED, publication, SOURCE, passed=True)
        return publication

    def _attest(self, tx: Tx, publication: Publication, read: ParsedArticle, look: EvidenceLook) -> int:
        """An attestation for every binding; says for how many there is none that is valid."""
        if len(look.bindings) < len(read.evidence):
            return len(read.evidence)  # a source has gone; the problems say which
        names = assembly.binding_names(read, look.spans)
        atoms = atom_store.find(tx, set(names))
        said = [
            attestation(name, _inputs(item), item.verification, publication.receipt)
            for name, item in zip(names, look.bindings, strict=True)
        ]
        rows = [
            (atoms[name].id, kept, item["result"], item["level"], item["verifier"])
            for name, kept, item in zip(names, self._receipts.keep_all(tx, said), said, strict=True)
        ]
        store.add_attestations(tx, BINDING_VALIDITY, rows, SOURCE, self._clock.now_us())
        return len(set(names) - {item["target"] for item in said if item["result"] == "pass"})

    def _report(self, tx: Tx, publication: Publication, problems: Sequence[Problem], look: EvidenceLook) -> ObjectHash:
        return self._receipts.keep(
            tx,
            {
                "format": "review/1",
                "publication": publication_id(publication.id),
                "synthesis": _hash_of(tx, publication.synthesis),
                "verifier": self.evidence.referee.version,
                "passed": not problems,
                "bindings": len(look.bindings),
                "verified": sum(map(rules.counts, look.bindings)),
                "problems": [
                    {"code": item.code, "words": item.words, **({"claim": item.label} if item.label else {})}
                    for item in problems[:100]
                ],
            },
        )

    def _refuse(self, tx: Tx, publication: Publication, problems: Sequence[Problem]) -> Publication:
        evidence = {"publication": publication_id(publication.id), "review": publication.review}
        self._atoms.lifecycle.move(
            tx,
            self._own_pending(tx, publication),
            Act.REFUSE,
            Actor.REFEREE,
            SOURCE,
            (Condition.REVIEW_FAILED,),
            reason=problems[0].words[:_REASON_CHARS_MAX],
            evidence=evidence,
        )
        self.novelty.withdraw(tx, publication.id)
        publication = replace(publication, state=PublicationState.REFUSED, ended_us=self._clock.now_us())
        self._save(tx, publication)
        self._announce(tx, events.REVIEWED, publication, SOURCE, passed=False)
        self._stakes.give_back(tx, publication.stake, reason="the review failed", refs=self._refs(publication))
        return publication

    def _own_pending(self, tx: Tx, publication: Publication) -> list[Atom]:
        """What this version brings and nobody else needs, still pending."""
        ids = store.atoms(tx, publication.id)
        elsewhere = store.needed_elsewhere(tx, publication.id, ids)
        return [atom for atom in atom_store.lock(tx, ids) if atom.state is State.PENDING and atom.id not in elsewhere]

    # The window and after

    def promote(self, tx: Tx, id_: UUID) -> Publication:
        """The window is over and nobody challenges: what it brings is citable from now on."""
        publication = self._locked(tx, id_)
        now_us = self._clock.now_us()
        until_us = publication.window_until_us
        due = publication.state is PublicationState.IN_WINDOW and until_us is not None and until_us <= now_us
        if not due or store.challenged(tx, id_):
            return publication
        atoms = atom_store.lock(tx, [atom.id for atom in self.footing(tx, publication.synthesis)])
        fallen = [atom for atom in atoms if atom.state not in (State.PENDING, State.PROMOTED)]
        if fallen:  # another article brought it too, and it was challenged there
            words = f"it rests on {fallen[0].hash}, which is {fallen[0].state.value} meanwhile"
            return self._refuse(tx, publication, [Problem("fallen", words)])
        if not self._stakes.is_held(tx, publication.stake):
            return self._refuse(tx, publication, [Problem("stake", "its stake has expired")])
        shown = self._shown_for_promotion(tx, publication)
        evidence = {"publication": publication_id(id_), "review": publication.review}
        pending = [atom for atom in atoms if atom.state is State.PENDING]
        self._atoms.lifecycle.move(
            tx, pending, Act.PROMOTE, Actor.CLOCK, SOURCE, shown, reason="the window is over", evidence=evidence
        )
        publication = replace(
            publication,
            state=PublicationState.PROMOTED,
            promoted_us=now_us,
            stake_due_us=now_us + self._policy.stake_return_s * MICROSECONDS,
        )
        self._save(tx, publication)
        self._announce(tx, events.PROMOTED, publication, SOURCE)
        return publication

    def _shown_for_promotion(self, tx: Tx, publication: Publication) -> set[Condition]:
        """What can be shown, each looked up anew: that it must all be there is the table's business."""
        shown = {Condition.WINDOW_OVER}  # the caller has compared the times
        if not store.challenged(tx, publication.id):
            shown.add(Condition.UNCHALLENGED)
        if self._stakes.is_held(tx, publication.stake):
            shown.add(Condition.STAKED)
        bindings = [atom.id for atom in atom_store.rests_on(tx, publication.synthesis) if atom.kind is Kind.BINDING]
        valid = {item[0] for item in store.attestations(tx, bindings) if item[3] == "pass"}
        if bindings and valid >= set(bindings):
            shown.add(Condition.ATTESTED)
        return shown

    def return_stake(self, tx: Tx, id_: UUID) -> Publication:
        """The article stood long enough: its stake goes back."""
        publication = self._locked(tx, id_)
        due_us = publication.stake_due_us
        if due_us is None or due_us > self._clock.now_us() or store.challenged(tx, id_):
            return publication
        publication = replace(publication, stake_due_us=None)
        store.save(tx, publication)
        self._announce(tx, events.STAKE_RETURNED, publication, SOURCE)
        self._stakes.give_back(tx, publication.stake, reason="the article stands", refs=self._refs(publication))
        return publication

    def due(self, tx: Tx, limit: int) -> tuple[list[UUID], list[UUID]]:
        """Versions whose window has ended, and versions whose stake can go back."""
        now_us = self._clock.now_us()
        return store.windows_over(tx, now_us, limit), store.stakes_due(tx, now_us, limit)

    # Falling

    def retract(self, tx: Tx, who: Principal, id_: UUID, reason: str) -> Publication:
        """Authors take their newest version back; what it rests on stays."""
        reason = in_a_line("The reason", reason, _REASON_CHARS_MAX)
        article = self._articles.lock_own(tx, who, id_)
        found = store.version(tx, id_, None)
        if found is None or found.state not in STANDING:
            raise NothingToRetract(article=article_id(id_), state=article.state.value)
        publication = self._locked(tx, found.id)
        self._check_may_retract(tx, who, publication)
        if store.challenged(tx, publication.id):
            raise ChallengeOpen(article=article_id(id_))
        shown, words = (Condition.OWN_WISH, Condition.UNCHALLENGED), "its authors took it back"
        self._move_article(tx, publication, Act.RETRACT, Actor.MAKER, who.source, shown, words, {})
        self._withdraw_rest(tx, publication, who.source, words)
        due_us = publication.stake_due_us  # what it promoted stays, and can still be challenged
        publication = replace(self._end(tx, publication, PublicationState.RETRACTED), stake_due_us=due_us)
        store.save(tx, publication)
        store.say(tx, publication.id, reason)
        self._announce(tx, events.RETRACTED, publication, who.source, own_wish=True)
        if due_us is None:
            self._stakes.give_back(tx, publication.stake, reason=words, refs=self._refs(publication))
        return publication

    def _check_may_retract(self, tx: Tx, who: Principal, publication: Publication) -> None:
        """The first author always; who published a version also, until others may rest on it."""
        may = {self._articles.authors(tx, publication.article)[0]}
        if publication.state is PublicationState.IN_WINDOW:
            may.add(publication.owner)
        if may.isdisjoint(who.owners):
            raise NotYoursToRetract(article=article_id(publication.article), state=publication.state.value)

    def fall(
        self, tx: Tx, publication: Publication, target: Atom, act: Act, actor: Actor, by: str, evidence: dict[str, Any]
    ) -> Publication:
        """A challenge was won: the challenged atom falls, and the article with it. The caller ends the stake."""
        shown, reason = (Condition.CHALLENGE_WON,), "a challenge was won"
        standing = publication.state in STANDING
        if target.id != publication.synthesis and target.state in (State.PENDING, State.PROMOTED):
            self._atoms.lifecycle.move(tx, [target], act, actor, by, shown, reason=reason, evidence=evidence)
        if not standing:  # it was retracted before; it only answers for what it brought
            store.save(tx, replace(publication, stake_due_us=None))
            return replace(publication, stake_due_us=None)
        self._move_article(tx, publication, act, actor, by, shown, reason, evidence)
        self._demote_rest(tx, publication, actor, by, evidence)
        state = PublicationState.RETRACTED if act is Act.RETRACT else PublicationState.DEMOTED
        publication = self._end(tx, publication, state)
        self._announce(tx, events.RETRACTED if act is Act.RETRACT else events.DEMOTED, publication, by)
        return publication

    def _move_article(
        self,
        tx: Tx,
        publication: Publication,
        act: Act,
        actor: Actor,
        by: str,
        shown: Collection[Condition],
        reason: str,
        evidence: dict[str, Any],
    ) -> None:
        """The synthesis, and the article's own text as a source."""
        own_text = [a.id for a in atom_store.carries(tx, publication.synthesis, 10) if a.kind is Kind.SOURCE]
        locked = atom_store.lock(tx, [publication.synthesis, *own_text])
        standing = [atom for atom in locked if atom.state in (State.PENDING, State.PROMOTED)]
        self._atoms.lifecycle.move(tx, standing, act, actor, by, shown, reason=reason, evidence=evidence)

    def _demote_rest(self, tx: Tx, publication: Publication, actor: Actor, by: str, evidence: dict[str, Any]) -> None:
        """What was pending with it has no stake any more."""
        reason = "the article that brought it lost a challenge"
        pending, shown = self._own_pending(tx, publication), (Condition.CHALLENGE_WON,)
        self._atoms.lifecycle.move(tx, pending, Act.DEMOTE, actor, by, shown, reason=reason, evidence=evidence)

    def _withdraw_rest(self, tx: Tx, publication: Publication, by: str, reason: str) -> None:
        """What was pending with a version that its authors took back."""
        shown = (Condition.OWN_WISH, Condition.UNCHALLENGED)
        pending = self._own_pending(tx, publication)
        self._atoms.lifecycle.move(tx, pending, Act.WITHDRAW, Actor.MAKER, by, shown, reason=reason)

    def _end(self, tx: Tx, publication: Publication, state: PublicationState) -> Publication:
        ended = replace(publication, state=state, ended_us=self._clock.now_us(), stake_due_us=None)
        self._save(tx, ended)
        return ended

    # Looking things up

    def version(self, tx: Tx, who: Principal, id_: UUID, n: int | None = None) -> Publication:
        """A version of an article; without a number the newest."""
        self._articles.get(tx, who, id_)
        found = store.version(tx, id_, n)
        if found is None:
            raise UnknownPublication(article=article_id(id_), version=n or 1)
        return found

    def to_read(self, tx: Tx, who: Principal, id_: UUID, n: int | None = None) -> Publication:
        """The version that a reader wants: without a number the newest that is promoted, if there is one."""
        article = self._articles.get(tx, who, id_)
        promoted = store.promoted_version(tx, article.id) if n is None else None
        return promoted or self.version(tx, who, id_, n)

    def versions(
        self, tx: Tx, who: Principal, id_: UUID, before: int | None = None, limit: int | None = None
    ) -> list[Publication]:
        """Newest first; those before a version, and at most so many, if that is said."""
        self._articles.get(tx, who, id_)
        return store.versions(tx, id_, before, limit)

    @staticmethod
    def at_stake(tx: Tx, owner: str, limit: int) -> list[tuple[Stake, Publication | None]]:
        """What an owner has at risk, newest first, and the version that it is for, if it is for one."""
        stakes = stake_store.held_of(tx, owner, limit)
        found = store.by_stake(tx, owner, [item.id for item in stakes])
        return [(item, found.get(item.id)) for item in stakes]

    def synthesis_of(self, tx: Tx, publication: Publication) -> ObjectHash:
        return _hash_of(tx, publication.synthesis)

    def locked_with(self, tx: Tx, publication: UUID) -> Publication:
        return self._locked(tx, publication)

    def _locked(self, tx: Tx, id_: UUID) -> Publication:
        found = store.get(tx, id_)
        assert found is not None, "publications are never deleted"
        self._articles.lock(tx, found.article)
        locked = store.get(tx, id_, lock=True)
        assert locked is not None
        return locked

    def _save(self, tx: Tx, publication: Publication) -> None:
        store.save(tx, publication)
        article = self._articles.lock(tx, publication.article)
        if publication.version == article.versions:
            self._set_article(tx, article, publication)

    def _set_article(self, tx: Tx, article: Article, publication: Publication) -> None:
        article_store.save(tx, replace(article, state=_STATES[publication.state], changed_us=self._clock.now_us()))

    @staticmethod
    def _refs(publication: Publication) -> tuple[str, ...]:
        return (article_id(publication.article), publication_id(publication.id))

    def _announce(self, tx: Tx, type_: str, publication: Publication, by: str, **data: Any) -> None:
        shown = {
            "publication": publication_id(publication.id),
            "version": publication.version,
            "state": publication.state.value,
            **data,
        }
        subject = article_id(publication.article)
        self._outbox.announce(tx, type_, subject=subject, actor=by, data=shown, audience=[EVERYONE])


def _too_old(novelty: NoveltyQuote) -> list[Problem]:
    """What is not new is refused before anything is staked."""
    return [Problem("novelty", f"it is not new: {novelty.reasons[0].rstrip('.')}")] if novelty.refused else []


def is_live(publication: Publication) -> bool:
    return publication.state in LIVE


def _inputs(binding: CheckedBinding) -> dict[str, str]:
    return {"claim": binding.claim, "pointer": binding.pointer, "relation": binding.relation}


def _hash_of(tx: Tx, atom: int) -> ObjectHash:
    return atom_store.by_id(tx, atom).hash
