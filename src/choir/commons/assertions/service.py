"""`assert`: which sentences of a text or an article stand on promoted bindings.

Guarantees: a sentence stands only on bindings that are promoted now and support a claim that it makes: one that it
marks itself, or a promoted claim which says the same, word for word or by the verifiers. What cannot be decided does
not stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from choir.commons.articles.model import BadArticle, ParsedArticle, Relation
from choir.commons.articles.sentences import sentences_of
from choir.commons.articles.service import Articles
from choir.commons.assertions.model import SentenceStanding, Standing
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Atom, State
from choir.commons.atoms.rules import folded, said_hash
from choir.commons.atoms.schemas import Binding, Claim, refusing
from choir.commons.atoms.service import Atoms
from choir.commons.policy import CommonsPolicy, VerifiersPolicy
from choir.commons.publication.assembly import name_of
from choir.commons.publication.service import Publications
from choir.commons.verifiers.model import Outcome, worst
from choir.commons.verifiers.referee import guarded
from choir.foundation.words import count
from choir.identity.model import Principal
from choir.storage.database import Tx

_WORDS = re.compile(r"[^\W_]{3,}", re.UNICODE)
_QUERY_WORDS = 4
_CANDIDATES = 20


class Assertions:
    """Looks at texts; changes nothing."""

    def __init__(
        self,
        articles: Articles,
        atoms: Atoms,
        publications: Publications,
        commons: CommonsPolicy,
        verifiers: VerifiersPolicy,
    ) -> None:
        self._articles = articles
        self._atoms = atoms
        self._publications = publications
        self._commons = commons
        self._verifiers = verifiers

    def of_article(self, tx: Tx, who: Principal, id_: UUID, version: int | None) -> list[SentenceStanding]:
        """The sentences of a published version."""
        publication = self._publications.version(tx, who, id_, version)
        content = self._atoms.content(tx, self._publications.synthesis_of(tx, publication))
        assert content.kind == "SYNTHESIS"
        return self._look(tx, self._articles.read(content.text, content.title, list(content.topics)))

    def of_text(self, tx: Tx, text: str) -> list[SentenceStanding]:
        """The sentences of any text, with or without marked claims."""
        return self._look(tx, self._articles.read(text, "A text", []))

    def _look(self, tx: Tx, article: ParsedArticle) -> list[SentenceStanding]:
        found = [item for item in sentences_of(article) if not item.heading]
        if len(found) > self._commons.sentences_max:
            raise BadArticle(why=f"it has more than {self._commons.sentences_max} sentences", line=found[-1].line)
        marked = {claim.label: claim.text for claim in article.claims}
        return [self._one(tx, item.text, [marked[label] for label in item.labels]) for item in found]

    def _one(self, tx: Tx, sentence: str, claims: Sequence[str]) -> SentenceStanding:
        return self._marked(tx, sentence, claims) if claims else self._unmarked(tx, sentence)

    def _marked(self, tx: Tx, sentence: str, claims: Sequence[str]) -> SentenceStanding:
        """A sentence with marked claims stands if each of them does."""
        with refusing():
            names = [name_of(Claim(text=text)) for text in claims]
        atoms = atom_store.find(tx, names)
        known = [atoms[name].id for name in names if name in atoms and atoms[name].state is not State.UNTRUSTED]
        by_claim = self._supporting(tx, known)
        bindings = tuple(item.hash for id_ in known for item in by_claim.get(id_, []))
        if len(known) == len(names) and all(by_claim.get(id_) for id_ in known):
            words = f"its marked {'claim rests' if len(names) == 1 else 'claims rest'} on"
            words += f" {count(len(bindings), 'promoted binding')}"
            if len(claims) > 1 or folded(claims[0]) != folded(sentence):
                words += "; it stands as far as it is marked"
            return SentenceStanding(sentence, Standing.STANDS, words, bindings, names[0])
        if known and any(
            atom.state is not State.UNTRUSTED for id_ in known for atom in atom_store.carries(tx, id_, 50)
        ):
            return SentenceStanding(sentence, Standing.PENDING, "its evidence is not promoted", bindings, names[0])
        return SentenceStanding(sentence, Standing.UNSUPPORTED, "no evidence is bound to its claim")

    def _unmarked(self, tx: Tx, sentence: str) -> SentenceStanding:
        words = sorted({word.casefold() for word in _WORDS.findall(sentence)}, key=lambda word: (-len(word), word))
        query = " & ".join(words[:_QUERY_WORDS])  # the longest: short words are everywhere
        found = atom_store.claims_like(tx, said_hash(sentence), query, _CANDIDATES) if words else []
        by_claim = self._supporting(tx, [atom.id for atom, _ in found])
        for atom, text in found:
            if by_claim.get(atom.id) and self._says_the_same(sentence, text):
                bindings = tuple(item.hash for item in by_claim[atom.id])
                return SentenceStanding(sentence, Standing.STANDS, f"says what is claimed: {text}", bindings, atom.hash)
        return SentenceStanding(sentence, Standing.PLAIN, "no promoted claim says this")

    def _supporting(self, tx: Tx, claims: Sequence[int]) -> dict[int, list[Atom]]:
        """Promoted bindings that support each claim, by what they say, not only by what they touch."""
        return {
            claim: [item for item in items if self._supports(tx, item)]
            for claim, items in atom_store.supporting(tx, claims).items()
        }

    def _supports(self, tx: Tx, atom: Atom) -> bool:
        content = self._atoms.content(tx, atom.hash)
        assert isinstance(content, Binding)
        return content.relation is Relation.SUPPORTS and atom.state is State.PROMOTED

    def _says_the_same(self, sentence: str, claim: str) -> bool:
        if folded(sentence) == folded(claim):
            return True
        findings = guarded(sentence, claim, claim, self._verifiers)
        return worst([item.outcome for item in findings]) is Outcome.PASS
