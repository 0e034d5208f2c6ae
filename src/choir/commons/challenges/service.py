"""Opening and deciding challenges.

Guarantees: a challenge exists exactly when its stake is held; it is decided once, and what that moves is in the same
transaction; while one is open the stake and the window of what it is about stand still. What the verifiers can decide
they decide; the rest awaits operators.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from choir.commons import events
from choir.commons.articles import store as article_store
from choir.commons.articles.model import article_id
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Actor, Atom, State
from choir.commons.atoms.schemas import Binding, Claim, Extract, Synthesis
from choir.commons.atoms.service import Atoms
from choir.commons.challenges import rules, store
from choir.commons.challenges.model import (
    GROUNDS,
    Challenge,
    ChallengeOver,
    ChallengeRuling,
    ChallengeState,
    Ground,
    GroundTaken,
    NotChallengeable,
    OwnArticle,
    RulersOnly,
    TooManyChallenges,
    UnknownChallenge,
    challenge_id,
)
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.commons.publication import store as publication_store
from choir.commons.publication.evidence import Transact
from choir.commons.publication.model import Problem, Publication, publication_id
from choir.commons.publication.referee import Document, Referee
from choir.commons.publication.service import REFEREE, Publications
from choir.commons.receipts import Receipts
from choir.commons.sources.model import parse_pointer
from choir.commons.sources.service import Sources
from choir.commons.stakes import store as stake_store
from choir.commons.stakes.model import Origin, Purpose, StakeState
from choir.commons.stakes.rules import contribution
from choir.commons.stakes.service import SOURCE, Stakes
from choir.commons.statements import statement
from choir.commons.verifiers.model import CheckFinding, Level, Outcome
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, Entropy
from choir.foundation.ids import uuid7
from choir.identity.clusters.service import INDEPENDENT_BPS, Clusters
from choir.identity.model import KeyReused, Principal, Role
from choir.identity.repeats import Repeats
from choir.storage.database import Tx
from choir.storage.outbox import EVERYONE, Outbox
from choir.storage.tasks import schedule

JUDGE = "commons.judge"  # the task in which the referee looks at a challenge
_REASONING_CHARS_MAX = 10_000  # of an operator's ruling


class Challenges:
    """Use cases of challenges; all inside the caller's transaction."""

    def __init__(
        self,
        articles: Articles,
        publications: Publications,
        atoms: Atoms,
        sources: Sources,
        referee: Referee,
        stakes: Stakes,
        receipts: Receipts,
        clusters: Clusters,
        repeats: Repeats,
        outbox: Outbox,
        clock: Clock,
        entropy: Entropy,
        policy: CommonsPolicy,
        *,
        rulings_needed: int,
    ) -> None:
        self._articles = articles
        self._publications = publications
        self._atoms = atoms
        self._sources = sources
        self._referee = referee
        self._stakes = stakes
        self._receipts = receipts
        self._clusters = clusters
        self._repeats = repeats
        self._outbox = outbox
        self._clock = clock
        self._entropy = entropy
        self._policy = policy
        self._rulings_needed = rulings_needed

    # Opening

    def open(
        self,
        tx: Tx,
        who: Principal,
        name: ObjectHash,
        ground: Ground,
        said: str,
        pointers: Sequence[str],
        key: str | None = None,
    ) -> tuple[Challenge, bool]:
        """Challenge an atom; takes a stake as high as the article's. Says whether it is new."""
        challenger, said = owner_of(who), statement("The statement", said, self._policy.statement_chars_max)
        article_store.lock_owner(tx, challenger)
        content = {"challenge": name, "ground": ground.value, "statement": said, "pointers": list(pointers)}
        id_, new = self._repeats.once(
            tx, who, key, content, lambda: self._open(tx, who, challenger, name, ground, said, pointers)
        )
        found = store.get(tx, id_)
        if found is None:
            raise KeyReused
        return found, new

    def _open(
        self,
        tx: Tx,
        who: Principal,
        challenger: str,
        name: ObjectHash,
        ground: Ground,
        said: str,
        pointers: Sequence[str],
    ) -> UUID:
        atom = self._atoms.readable(tx, who, [name])[name]
        found = [parse_pointer(pointer) for pointer in pointers]
        for pointer in found:
            self._sources.span(tx, who, pointer)
        rules.check(atom, ground, pointers, self._policy)
        for pointer in found:
            self._atoms.offer(tx, who, pointer.source)  # who is challenged may read what with
        publication = self._standing(tx, atom)
        if challenger in self._articles.authors(tx, publication.article):
            raise OwnArticle
        if store.count_open(tx, challenger) >= self._policy.challenges_open_max:
            raise TooManyChallenges(limit=self._policy.challenges_open_max)
        return self._insert(tx, who, challenger, atom, publication, ground, said, pointers)

    def _standing(self, tx: Tx, atom: Atom) -> Publication:
        """The version that answers for an atom, locked; it may have fallen while we waited for it."""
        found = publication_store.answering_for(tx, atom.id)
        if found is None:
            raise NotChallengeable(atom=atom.hash, why="no article brought it")
        publication = self._publications.locked_with(tx, found.id)
        now = atom_store.by_id(tx, atom.id)
        if now.state is not atom.state:
            raise NotChallengeable(atom=atom.hash, why=f"it is {now.state.value} meanwhile")
        return publication

    def _insert(
        self,
        tx: Tx,
        who: Principal,
        challenger: str,
        atom: Atom,
        publication: Publication,
        ground: Ground,
        said: str,
        pointers: Sequence[str],
    ) -> UUID:
        now_us = self._clock.now_us()
        id_, stake = (uuid7(now_us, n, self._entropy.bytes(6)) for n in (0, 1))
        share = contribution(self._policy.publish_stake, 0, self._stakes.funds(tx, challenger), self._policy)
        challenge = Challenge(
            id=id_,
            publication=publication.id,
            atom=atom.id,
            ground=ground,
            basis=rules.basis_of(ground, said, pointers),
            statement=said,
            pointers=tuple(pointers),
            challenger=challenger,
            actor=who.source,
            stake=stake,
            state=ChallengeState.OPEN,
            finding=None,
            reasoning=None,
            opened_us=now_us,
            decided_us=None,
        )
        if not store.insert(tx, challenge):
            self._raise_taken(tx, atom, challenge)
        self._announce(tx, events.CHALLENGED, challenge, publication, who.source)
        schedule(tx, JUDGE, str(id_), now_us)
        refs = (challenge_id(id_), article_id(publication.article), atom.hash)
        self._stakes.place(tx, who, challenger, stake, Purpose.CHALLENGE, share, refs=refs)
        return id_

    @staticmethod
    def _raise_taken(tx: Tx, atom: Atom, challenge: Challenge) -> None:
        before = store.taken(tx, atom.id, challenge.ground, challenge.basis)
        assert before is not None, "nothing else is unique"
        shown, state = challenge_id(before.id), before.state.value
        raise GroundTaken(atom=atom.hash, ground=challenge.ground.value, challenge=shown, state=state)

    # Deciding

    def examine(self, transact: Transact, id_: UUID) -> list[CheckFinding]:
        """What the verifiers say now about what is challenged; takes a while and holds no transaction meanwhile."""
        with transact() as tx:
            challenge = self.get(tx, id_)
            content = self._atoms.content(tx, atom_store.by_id(tx, challenge.atom).hash)
        if challenge.state is not ChallengeState.OPEN or not GROUNDS[challenge.ground].checks:
            return []
        if isinstance(content, Synthesis):
            look = self._footing if challenge.ground is Ground.FALLEN else self._copied
            return look(transact, content, challenge)
        return self._verified(transact, content, challenge) if isinstance(content, Binding) else []

    def judge(self, tx: Tx, id_: UUID, findings: Sequence[CheckFinding]) -> Challenge:
        """Decide by what the referee found where that decides the ground; else people have to."""
        challenge, publication = self._locked(tx, id_)
        if challenge.state is not ChallengeState.OPEN:
            return challenge
        right = rules.by_findings(challenge.ground, findings) if findings else None
        challenge = replace(challenge, finding={"findings": [_shown(item) for item in findings]})
        if right is not None:
            return self._decide(tx, challenge, publication, Actor.REFEREE, SOURCE, "The referee looked again.", right)
        challenge = replace(challenge, state=ChallengeState.UNDER_REVIEW)
        store.save(tx, challenge)
        self._announce(tx, events.UNDER_REVIEW, challenge, publication, SOURCE)
        return challenge

    def _verified(self, transact: Transact, content: Binding, challenge: Challenge) -> list[CheckFinding]:
        with transact() as tx:
            claim, extract = (self._atoms.content(tx, ObjectHash(item)) for item in (content.claim, content.extract))
            assert isinstance(claim, Claim)
            assert isinstance(extract, Extract)
            document = self._document(tx, ObjectHash(extract.source))
        snapshot = self._referee.snapshot(document, again=challenge.ground is Ground.HASH)
        start, end = extract.start, extract.end
        found = self._referee.check(claim.text, content.relation, document, snapshot, start, end, extract.span)
        return list(found.findings)

    def _copied(self, transact: Transact, content: Synthesis, challenge: Challenge) -> list[CheckFinding]:
        read = self._articles.read(content.text, content.title, list(content.topics))
        problems: list[Problem] = []
        for name in sorted({parse_pointer(item).source for item in challenge.pointers}):
            with transact() as tx:
                if not self._was_there_before(tx, name, content, challenge):
                    return []  # anybody can upload an article's own text; people have to look at it
                document = self._document(tx, name)
            problems += self._referee.copied(read, document)
        if problems:
            return [CheckFinding(Level.L1, "copied", Outcome.FAIL, item.words, item.data or {}) for item in problems]
        return [CheckFinding(Level.L1, "copied", Outcome.PASS, "no run of words is copied from these sources")]

    @staticmethod
    def _was_there_before(tx: Tx, name: ObjectHash, content: Synthesis, challenge: Challenge) -> bool:
        """Whether everybody could read a source before the article was submitted, and it is not the article's own."""
        publication = publication_store.get(tx, challenge.publication)
        assert publication is not None
        since_us = atom_store.public_since(tx, name)
        of_article = atom_store.article_of(tx, name)
        return since_us is not None and since_us < publication.submitted_us and of_article != content.article

    def _footing(self, transact: Transact, content: Synthesis, challenge: Challenge) -> list[CheckFinding]:
        with transact() as tx:
            below = atom_store.rests_on(tx, challenge.atom)
        fallen = [atom for atom in below if atom.state not in (State.PENDING, State.PROMOTED)]
        if fallen:
            words = f"It rests on {fallen[0].hash}, which is {fallen[0].state.value}."
            return [CheckFinding(Level.L0, "footing", Outcome.FAIL, words, {"atoms": [atom.hash for atom in fallen]})]
        words = f"All of the {len(content.rests_on)} atoms that it rests on stand."
        return [CheckFinding(Level.L0, "footing", Outcome.PASS, words)]

    def _document(self, tx: Tx, name: ObjectHash) -> Document:
        record = self._sources.get(tx, REFEREE, name)
        return Document(record, self._sources.bytes_of(tx, record), self._sources.text_of(tx, record))

    def rule(self, tx: Tx, who: Principal, id_: UUID, *, upheld: bool, reasoning: str) -> Challenge:
        """An operator's ruling; it is decided once enough agree. An operator's first ruling stands."""
        if who.role is not Role.OPERATOR:
            raise RulersOnly
        who.must_be_told_apart(self._rulings_needed)
        reasoning = statement("The reasoning", reasoning, _REASONING_CHARS_MAX)
        challenge, publication = self._locked(tx, id_)
        if challenge.state is not ChallengeState.UNDER_REVIEW:
            raise ChallengeOver(challenge=challenge_id(id_), state=challenge.state.value)
        ruling = ChallengeRuling(who.source, upheld, reasoning)
        store.add_ruling(tx, id_, ruling, self._clock.now_us())
        right = rules.by_rulings(store.rulings(tx, id_), self._rulings_needed)
        if right is None:
            return challenge
        return self._decide(tx, challenge, publication, Actor.OPERATOR, who.source, reasoning, right)

    def _decide(
        self, tx: Tx, challenge: Challenge, publication: Publication, actor: Actor, by: str, reasoning: str, right: bool
    ) -> Challenge:
        state = ChallengeState.WON if right else ChallengeState.LOST
        challenge = replace(challenge, state=state, reasoning=reasoning, decided_us=self._clock.now_us())
        store.save(tx, challenge)
        self._announce(tx, events.DECIDED, challenge, publication, by)
        if right:
            self._won(tx, challenge, publication, actor, by)
        else:
            self._lost(tx, challenge, publication)
        return challenge

    def _won(self, tx: Tx, challenge: Challenge, publication: Publication, actor: Actor, by: str) -> None:
        """What was challenged falls, with every version that put it at stake; their stakes are shared out."""
        rule = GROUNDS[challenge.ground]
        evidence = {"challenge": challenge_id(challenge.id), "ground": challenge.ground.value}
        target = atom_store.lock(tx, [challenge.atom])[0]
        ids = publication_store.bringing(tx, challenge.atom)
        liable = [publication, *(self._publications.locked_with(tx, id_) for id_ in ids if id_ != publication.id)]
        others = [item for each in liable for item in store.undecided_of(tx, each.id) if item.id != challenge.id]
        for each in liable:
            self._publications.fall(tx, each, target, rule.act, actor, by, evidence)
            target = atom_store.by_id(tx, challenge.atom)
        receipt = self._receipt(tx, challenge, publication, "won")
        self._void(tx, others, publication)
        refs = self._refs(challenge, publication)
        backed = self._is_backed(tx, publication)
        self._stakes.give_back(tx, challenge.stake, reason="a challenge was won", refs=refs)
        for each in liable:
            share = self._independence(tx, challenge, each)
            self._stakes.slash_article(
                tx, each.stake, challenge.challenger, share, refs=self._refs(challenge, each), receipt=receipt
            )
        # A bounty is for what people have judged: a quarrel between friends must not make CREDIT by itself.
        independent = self._independence(tx, challenge, publication) == INDEPENDENT_BPS
        if backed and independent and actor is Actor.OPERATOR:
            self._stakes.pay_bounty(tx, challenge.challenger, key=refs[0], refs=refs)

    @staticmethod
    def _is_backed(tx: Tx, publication: Publication) -> bool:
        stake = stake_store.get(tx, publication.stake)
        return stake.state is StakeState.HELD and stake.of(Origin.TREASURY) + stake.of(Origin.STARTER) > 0

    def _void(self, tx: Tx, others: Sequence[Challenge], publication: Publication) -> None:
        for item in others:
            void = replace(item, state=ChallengeState.VOID, decided_us=self._clock.now_us())
            store.save(tx, void)
            self._announce(tx, events.DECIDED, void, publication, SOURCE)
        for item in others:
            why = "what was challenged fell on another ground"
            self._stakes.give_back(tx, item.stake, reason=why, refs=self._refs(item, publication))

    def _lost(self, tx: Tx, challenge: Challenge, publication: Publication) -> None:
        receipt = self._receipt(tx, challenge, publication, "lost")
        refs = self._refs(challenge, publication)
        self._stakes.slash_challenger(tx, challenge.stake, publication.owner, refs=refs, receipt=receipt)

    def _independence(self, tx: Tx, challenge: Challenge, publication: Publication) -> int:
        """The least independence from any author."""
        authors = self._articles.authors(tx, publication.article) or [publication.owner]
        return min(self._clusters.independence(tx, challenge.challenger, author) for author in authors)

    def _receipt(self, tx: Tx, challenge: Challenge, publication: Publication, outcome: str) -> ObjectHash:
        return self._receipts.sign(
            tx,
            None,
            challenge.challenger,
            "commons.challenge",
            budget=self._policy.publish_stake,
            spent=0,
            objects={
                "challenge": challenge_id(challenge.id),
                "article": article_id(publication.article),
                "atom": atom_store.by_id(tx, challenge.atom).hash,
            },
            verifiers={"commons": self._referee.version},
            outcome=outcome,
        )

    @staticmethod
    def _refs(challenge: Challenge, publication: Publication) -> tuple[str, ...]:
        return (challenge_id(challenge.id), article_id(publication.article), publication_id(publication.id))

    # Looking things up

    def get(self, tx: Tx, id_: UUID) -> Challenge:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownChallenge(challenge=challenge_id(id_))
        return found

    def rulings(self, tx: Tx, id_: UUID) -> list[ChallengeRuling]:
        return store.rulings(tx, id_)

    def target(self, tx: Tx, challenge: Challenge) -> tuple[Atom, UUID]:
        """The atom that is challenged, and the article that brings it."""
        publication = publication_store.get(tx, challenge.publication)
        assert publication is not None
        return atom_store.by_id(tx, challenge.atom), publication.article

    @staticmethod
    def challenged(tx: Tx, articles: Collection[UUID]) -> set[UUID]:
        """Those of these articles that are challenged just now."""
        return store.challenged_among(tx, articles)

    def page(
        self,
        tx: Tx,
        who: Principal,
        *,
        article: UUID | None,
        mine: bool,
        to_rule: bool,
        before: UUID | None,
        limit: int,
    ) -> list[Challenge]:
        challenger = list(who.owners) if mine else None
        return store.page(tx, article=article, challenger=challenger, to_rule=to_rule, before=before, limit=limit)

    def _locked(self, tx: Tx, id_: UUID) -> tuple[Challenge, Publication]:
        found = store.get(tx, id_)
        if found is None:
            raise UnknownChallenge(challenge=challenge_id(id_))
        publication = self._publications.locked_with(tx, found.publication)
        challenge = store.get(tx, id_, lock=True)
        assert challenge is not None
        return challenge, publication

    def _announce(self, tx: Tx, type_: str, challenge: Challenge, publication: Publication, by: str) -> None:
        data: dict[str, Any] = {
            "challenge": challenge_id(challenge.id),
            "article": article_id(publication.article),
            "atom": atom_store.by_id(tx, challenge.atom).hash,
            "ground": challenge.ground.value,
            "state": challenge.state.value,
        }
        subject = challenge_id(challenge.id)
        self._outbox.announce(tx, type_, subject=subject, actor=by, data=data, audience=[EVERYONE])


def _shown(item: CheckFinding) -> dict[str, Any]:
    return {
        "level": item.level.value,
        "check": item.check,
        "outcome": item.outcome.value,
        "words": item.words,
        "data": item.data,
    }
