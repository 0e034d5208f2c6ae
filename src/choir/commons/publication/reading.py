"""Reading a published version: its text as safe HTML, its quotes from their sources, each claim with its level.

Guarantee: a level is shown only where an attestation says so; what was not attested is shown as not verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.commons.articles.model import ParsedArticle
from choir.commons.articles.rendering import ClaimMark, Quote, render
from choir.commons.articles.service import Articles
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.schemas import Synthesis
from choir.commons.atoms.service import Atoms
from choir.commons.publication import assembly, store
from choir.commons.publication.service import REFEREE, Publications
from choir.commons.sources.model import Pointer
from choir.commons.sources.service import Sources
from choir.commons.takedowns import store as takedown_store
from choir.commons.verifiers.model import CheckFinding, Level, Outcome, Verification
from choir.foundation.canonical import ObjectHash
from choir.identity.model import Principal
from choir.objects.service import Objects
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class RenderedArticle:
    """A version as it is read."""

    version: int
    title: str
    markdown: str
    html: str


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

    def _quotes(self, tx: Tx, article: ParsedArticle) -> dict[str, Quote]:
        return {str(pointer): self._quote(tx, pointer) for pointer in article.pointers}

    def _quote(self, tx: Tx, pointer: Pointer) -> Quote:
        source = self._sources.get(tx, REFEREE, pointer.source)
        if takedown_store.of_atom(tx, source.atom) is not None:
            return Quote("(taken down)", "A source that was taken down")
        return Quote(self._sources.text_of(tx, source)[pointer.start : pointer.end], source.title)

    def _marks(self, tx: Tx, article: ParsedArticle) -> dict[str, ClaimMark]:
        spans = {str(item.pointer): self._quote(tx, item.pointer).text for item in article.evidence}
        names = assembly.binding_names(article, spans)
        verifications = self._verifications(tx, names)
        by_label: dict[str, dict[Pointer, Verification]] = {}
        for line, name in zip(article.evidence, names, strict=True):
            if name in verifications:
                by_label.setdefault(line.label, {})[line.pointer] = verifications[name]
        return {label: ClaimMark(found) for label, found in by_label.items()}

    def _verifications(self, tx: Tx, names: list[ObjectHash]) -> dict[ObjectHash, Verification]:
        """What was attested last about each of these bindings."""
        atoms = {atom.id: name for name, atom in atom_store.find(tx, set(names)).items()}
        found: dict[ObjectHash, Verification] = {}
        for item in store.attestations(tx, list(atoms)):
            found[atoms[item[0]]] = _verification(self._objects.get_atom(tx, ObjectHash(item[2])))
        return found


def _verification(said: dict[str, Any]) -> Verification:
    findings = tuple(
        CheckFinding(Level(item["level"]), item["check"], Outcome(item["outcome"]), item["words"], item["data"])
        for item in said["findings"]
    )
    return Verification(said["verifier"], findings)
