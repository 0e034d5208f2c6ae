"""From a draft to the atoms that it brings: extracts, claims, bindings, hypertheses, the synthesis. Pure.

Guarantee: the same draft and the same sources give the same atoms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from choir.commons.articles.model import EvidenceLine, ParsedArticle
from choir.commons.atoms.schemas import Binding, Claim, Content, Extract, Hyperthesis, Synthesis, refusing
from choir.commons.sources.model import Pointer
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash

C = TypeVar("C", bound=Content)


@dataclass(frozen=True, slots=True)
class Bundle:
    """All contents that an article brings, in an order in which each rests on those before it."""

    extracts: tuple[Extract, ...]
    claims: tuple[Claim, ...]
    bindings: tuple[Binding, ...]
    hypertheses: tuple[Hyperthesis, ...]
    synthesis: Synthesis

    @property
    def contents(self) -> tuple[Content, ...]:
        return (*self.extracts, *self.claims, *self.bindings, *self.hypertheses, self.synthesis)


@refusing()
def assemble(
    id_: str,
    article: ParsedArticle,
    spans: Mapping[str, str],
    cited: Mapping[ObjectHash, ObjectHash],
    previous: ObjectHash | None,
) -> Bundle:
    """The bundle of a draft; `spans` has the words of each pointer, `cited` which sources are which articles."""
    extracts = {str(line.pointer): _extract(line.pointer, spans) for line in article.evidence}
    quoted = {str(mark.pointer): _extract(mark.pointer, spans) for mark in article.quotes}
    claims = {claim.label: Claim(text=claim.text) for claim in article.claims}
    bindings = [_binding(line, claims, spans) for line in article.evidence]
    hypertheses = [Hyperthesis(statement=item.statement, bound=item.bound) for item in article.disclosures]
    synthesis = Synthesis(
        article=id_,
        title=article.title,
        text=article.markdown,
        topics=article.topics,
        bindings=_names(bindings),
        quotes=_names(quoted.values()),
        hypertheses=_names(hypertheses),
        cites=tuple(sorted({cited[line.pointer.source] for line in article.evidence if line.pointer.source in cited})),
        previous=previous,
    )
    return Bundle(
        _once({**extracts, **quoted}.values()),
        _once(claims.values()),
        _once(bindings),
        _once(hypertheses),
        synthesis,
    )


@refusing()
def binding_names(article: ParsedArticle, spans: Mapping[str, str]) -> list[ObjectHash]:
    """The name of the binding that each line of the evidence is."""
    claims = {claim.label: Claim(text=claim.text) for claim in article.claims}
    return [name_of(_binding(line, claims, spans)) for line in article.evidence]


def _binding(line: EvidenceLine, claims: Mapping[str, Claim], spans: Mapping[str, str]) -> Binding:
    return Binding(
        claim=name_of(claims[line.label]),
        extract=name_of(_extract(line.pointer, spans)),
        relation=line.relation,
        confidence_bps=line.confidence_bps,
    )


def name_of(content: Content) -> ObjectHash:
    return canonical_hash(content.to_json())


def _extract(pointer: Pointer, spans: Mapping[str, str]) -> Extract:
    span = bytes_hash(spans[str(pointer)].encode())
    return Extract(source=pointer.source, start=pointer.start, end=pointer.end, span=span)


def _names(contents: Iterable[Content]) -> tuple[ObjectHash, ...]:
    return tuple(dict.fromkeys(name_of(content) for content in contents))


def _once(contents: Iterable[C]) -> tuple[C, ...]:
    """Each once, in an order in which no two transactions that make the same can block each other."""
    found = {name_of(content): content for content in contents}
    return tuple(found[name] for name in sorted(found))
