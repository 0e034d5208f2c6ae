"""Reading a published version: its text as safe HTML, its quotes from their sources, each claim with its level.

Guarantees: a level is shown only where an attestation says so; what was not attested is shown as not verified. Whoever
may read the article sees of its sources what it points to, with a little around it, and of a source that was taken down
nothing but how far it was verified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from choir.commons.articles.model import EvidenceLine, MarkedClaim, ParsedArticle
from choir.commons.articles.rendering import OWN, ClaimMark, Quote, render, render_text
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.schemas import Synthesis
from choir.commons.atoms.service import Atoms
from choir.commons.publication import assembly, store
from choir.commons.publication.model import Publication
from choir.commons.publication.service import REFEREE, ExaminedDraft, Publications
from choir.commons.sources.model import Pointer, parse_pointer
from choir.commons.sources.service import Sources
from choir.commons.takedowns import store as takedown_store
from choir.commons.verifiers.model import CheckFinding, Level, Outcome, Verification
from choir.foundation.canonical import ObjectHash
from choir.identity.model import Principal
from choir.objects.service import Objects
from choir.storage.database import Tx

_AROUND_CHARS = 300  # of a source, before and after what an article points to
_TAKEN = Quote("(taken down)", "A source that was taken down")


@dataclass(frozen=True, slots=True)
class RenderedArticle:
    """A version as it is read."""

    version: int
    title: str
    markdown: str
    html: str


@dataclass(frozen=True, slots=True)
class ShownBinding:
    """A line of evidence beside what it points to."""

    name: ObjectHash
    line: EvidenceLine
    title: str  # of the source
    before: str  # what the source says around it
    quote: str
    after: str
    verification: Verification | None  # None: nothing was attested


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A claim, how far it is verified, and what it rests on."""

    label: str
    text: str
    mark: str  # the highest level reached; or own, failed, none
    bindings: tuple[ShownBinding, ...]


@dataclass(frozen=True, slots=True)
class ShownArticle:
    """A version with the evidence of each claim."""

    publication: Publication
    synthesis: ObjectHash
    title: str
    topics: tuple[str, ...]
    words: int
    html: str  # its text alone
    claims: tuple[ShownClaim, ...]


class ArticleReading:
    """Renders versions; changes nothing."""

    def __init__(
        self, articles: Articles, publications: Publications, atoms: Atoms, sources: Sources, objects: Objects
    ) -> None:
        self._articles = articles
        self._publications = publications
        self._atoms = atoms
        self._sources = sources
        self._objects = objects

    def content(self, tx: Tx, who: Principal, id_: UUID, version: int | None) -> tuple[int, Synthesis]:
        """A version's number and what it says."""
        publication = self._publications.version(tx, who, id_, version)
        content = self._atoms.content(tx, self._publications.synthesis_of(tx, publication))
        assert isinstance(content, Synthesis)
        return publication.version, content

    def rendered(self, tx: Tx, who: Principal, id_: UUID, version: int | None) -> RenderedArticle:
        n, content = self.content(tx, who, id_, version)
        article = self._articles.read(content.text, content.title, list(content.topics))
        html = render(article, self._quotes(tx, article), self._marks(tx, article))
        return RenderedArticle(n, content.title, content.text, html)

    def shown(self, tx: Tx, who: Principal, id_: UUID, version: int | None) -> ShownArticle:
        """A version as a page shows it; without a number the newest that is promoted, else the newest."""
        publication = self._publications.to_read(tx, who, id_, version)
        synthesis = self._publications.synthesis_of(tx, publication)
        content = self._atoms.content(tx, synthesis)
        assert isinstance(content, Synthesis)
        article = self._articles.read(content.text, content.title, list(content.topics))
        marks = self._marks(tx, article)
        html = render_text(article, self._quotes(tx, article), marks)
        claims = self._claims(tx, article, marks)
        return ShownArticle(publication, synthesis, article.title, article.topics, article.words, html, claims)

    def _claims(self, tx: Tx, article: ParsedArticle, marks: dict[str, ClaimMark]) -> tuple[ShownClaim, ...]:
        spans = self._spans(tx, article)
        bindings: dict[str, list[ShownBinding]] = {claim.label: [] for claim in article.claims}
        for line, name in zip(article.evidence, assembly.binding_names(article, spans), strict=True):
            verifications = marks.get(line.label, ClaimMark({})).verifications
            bindings[line.label].append(self._binding(tx, line, name, verifications.get(line.pointer)))
        return tuple(_claim(claim, bindings[claim.label], marks) for claim in article.claims)

    def _binding(self, tx: Tx, line: EvidenceLine, name: ObjectHash, found: Verification | None) -> ShownBinding:
        source = self._sources.get(tx, REFEREE, line.pointer.source)
        if takedown_store.of_atom(tx, source.atom) is not None:
            return ShownBinding(name, line, _TAKEN.title, "", _TAKEN.text, "", found)
        text, start, end = self._sources.text_of(tx, source), line.pointer.start, line.pointer.end
        before, after = text[max(0, start - _AROUND_CHARS) : start], text[end : end + _AROUND_CHARS]
        return ShownBinding(name, line, source.title, before, text[start:end], after, found)

    def preview(self, tx: Tx, who: Principal, examined: ExaminedDraft) -> str:
        """A draft as it would be read, with what the verifiers say of it now."""
        read, look = examined.read, examined.look
        pointers = {text: parse_pointer(text) for text in look.spans}
        names = {pointer.source for pointer in pointers.values()}
        titles = {name: self._sources.get(tx, who, name).title for name in names}
        quotes = {text: Quote(look.spans[text], titles[pointer.source]) for text, pointer in pointers.items()}
        by_label: dict[str, dict[Pointer, Verification]] = {}
        for item in look.bindings:
            by_label.setdefault(item.label, {})[parse_pointer(item.pointer)] = item.verification
        return render(read, quotes, {label: ClaimMark(found) for label, found in by_label.items()})

    def _quotes(self, tx: Tx, article: ParsedArticle) -> dict[str, Quote]:
        return {str(pointer): self._quote(tx, pointer) for pointer in article.pointers}

    def _quote(self, tx: Tx, pointer: Pointer) -> Quote:
        source = self._sources.get(tx, REFEREE, pointer.source)
        if takedown_store.of_atom(tx, source.atom) is not None:
            return _TAKEN
        return Quote(self._sources.text_of(tx, source)[pointer.start : pointer.end], source.title)

    def _spans(self, tx: Tx, article: ParsedArticle) -> dict[str, str]:
        """What the evidence points to, which bindings are named by; never shown, since a source may be taken down."""
        found = {}
        for pointer in {item.pointer for item in article.evidence}:
            source = self._sources.get(tx, REFEREE, pointer.source)
            found[str(pointer)] = self._sources.text_of(tx, source)[pointer.start : pointer.end]
        return found

    def _marks(self, tx: Tx, article: ParsedArticle) -> dict[str, ClaimMark]:
        spans = self._spans(tx, article)
        names = assembly.binding_names(article, spans)
        verifications = self._verifications(tx, names)
        by_label: dict[str, dict[Pointer, Verification]] = {}
        for line, name in zip(article.evidence, names, strict=True):
            if name in verifications:
                found, quote = verifications[name], self._quote(tx, line.pointer)
                by_label.setdefault(line.label, {})[line.pointer] = _silent(found) if quote is _TAKEN else found
        return {label: ClaimMark(found) for label, found in by_label.items()}

    def _verifications(self, tx: Tx, names: list[ObjectHash]) -> dict[ObjectHash, Verification]:
        """What was attested last about each of these bindings."""
        atoms = {atom.id: name for name, atom in atom_store.find(tx, set(names)).items()}
        found: dict[ObjectHash, Verification] = {}
        for item in store.attestations(tx, list(atoms)):
            found[atoms[item[0]]] = _verification(self._objects.get_atom(tx, ObjectHash(item[2])))
        return found


def _claim(claim: MarkedClaim, bindings: list[ShownBinding], marks: dict[str, ClaimMark]) -> ShownClaim:
    lines = [item.line for item in bindings]
    mark = marks.get(claim.label, ClaimMark({})).level(lines) if lines else OWN
    return ShownClaim(claim.label, claim.text, mark, tuple(bindings))


def _silent(found: Verification) -> Verification:
    """What it came to, without words, which tell pieces of the quote."""
    return replace(found, findings=tuple(replace(item, words="", data={}) for item in found.findings))


def _verification(said: dict[str, Any]) -> Verification:
    findings = tuple(
        CheckFinding(Level(item["level"]), item["check"], Outcome(item["outcome"]), item["words"], item["data"])
        for item in said["findings"]
    )
    return Verification(said["verifier"], findings)
