"""The deterministic referee: what the verifiers say of an article's evidence, and the attestations of it.

It reads what it judges from the object store, by hash, and never from an author's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choir.commons.articles.copies import copied_runs
from choir.commons.articles.model import EvidenceLine, ParsedArticle, Relation
from choir.commons.policy import CommonsPolicy, VerifiersPolicy
from choir.commons.publication import rules
from choir.commons.publication.model import CheckedBinding, Problem
from choir.commons.sources.model import MediaType, SourceRecord
from choir.commons.sources.reader import DocumentReader
from choir.commons.verifiers import custody
from choir.commons.verifiers.judge import Judge
from choir.commons.verifiers.model import CheckFinding, Level, Outcome, Verification
from choir.commons.verifiers.referee import verify_binding, version_of
from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_hash
from choir.foundation.errors import ChoirError

BINDING_VALIDITY = "BINDING_VALIDITY"
_CONTEXT_CHARS = 600  # on each side of a span: where a name or a negation may be that the span rests on


@dataclass(frozen=True, slots=True)
class Document:
    """A source with its bytes and its text, as the store has them."""

    record: SourceRecord
    data: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What L0 says of a source, for all bindings that rest on it."""

    findings: tuple[CheckFinding, ...]
    read_again: bool


@dataclass(frozen=True, slots=True)
class DocumentFindings:
    """What was seen of one source."""

    bindings: dict[int, CheckedBinding]  # by the line of the evidence
    spans: dict[str, str]  # the words of each pointer
    problems: list[Problem]


class Referee:
    """Runs the verifiers. Pure but for the process that reads documents again."""

    def __init__(
        self, reader: DocumentReader, commons: CommonsPolicy, verifiers: VerifiersPolicy, judge: Judge | None = None
    ) -> None:
        self._reader = reader
        self._commons = commons
        self._verifiers = verifiers
        self._judge = judge

    @property
    def version(self) -> str:
        return version_of(self._verifiers)

    def snapshot(self, document: Document, *, again: bool) -> Snapshot:
        """What L0 says of a source; `again` reads the document anew, if its reader is still the one that we have."""
        record = document.record
        recorded = custody.Recorded(record.bytes, record.text, record.chars)
        findings = [custody.snapshot(recorded, document.data, document.text)]
        read = self._read_again(document) if again else None
        if read is not None:
            findings.append(_reading(same=read == record.text, reader=record.reader))
        return Snapshot(tuple(findings), read_again=read is not None)

    def _read_again(self, document: Document) -> ObjectHash | None:
        try:
            read = self._reader.read(document.data, MediaType(document.record.media_type))
        except (ChoirError, ValueError):  # a kind of text that is not read from a document
            return None
        return bytes_hash(read.text.encode()) if read.reader == document.record.reader else None

    def check(
        self, claim: str, relation: Relation, document: Document, snapshot: Snapshot, start: int, end: int, span: str
    ) -> Verification:
        """All levels of one binding; `span` is the recorded hash of the extract."""
        text = document.text
        located = custody.span(text, start, end, ObjectHash(span))
        return verify_binding(
            claim,
            text[start:end],
            text[max(0, start - _CONTEXT_CHARS) : end + _CONTEXT_CHARS],
            relation,
            policy=self._verifiers,
            custody=(*snapshot.findings, located),
            judge=self._judge,
        )

    def look(self, article: ParsedArticle, document: Document, *, again: bool) -> DocumentFindings:
        """Everything that an article says of one source."""
        claims = {claim.label: claim.text for claim in article.claims}
        snapshot = self.snapshot(document, again=again)
        name, text = document.record.hash, document.text
        lines = [(n, line) for n, line in enumerate(article.evidence) if line.pointer.source == name]
        pointers = {line.pointer for _, line in lines} | {m.pointer for m in article.quotes if m.pointer.source == name}
        outside = {pointer for pointer in pointers if pointer.end > len(text)}

        def one(line: EvidenceLine) -> CheckedBinding:
            start, end = line.pointer.start, line.pointer.end
            span = bytes_hash(text[start:end].encode())
            found = self.check(claims[line.label], line.relation, document, snapshot, start, end, span)
            return CheckedBinding(line.label, claims[line.label], str(line.pointer), line.relation.value, found)

        return DocumentFindings(
            bindings={n: one(line) for n, line in lines},
            spans={str(item): text[item.start : item.end] for item in pointers - outside},
            problems=[
                *(rules.outside_problem(str(item), len(text)) for item in sorted(outside, key=str)),
                *self.copied(article, document),
            ],
        )

    def copied(self, article: ParsedArticle, document: Document) -> list[Problem]:
        """NO-COPY: runs of words that are a source's own."""
        return [
            rules.copied_problem(document.record.hash, document.record.title, article.prose, run)
            for run in copied_runs(article.prose, document.text, self._commons.copied_words)
        ]


def _reading(*, same: bool, reader: str) -> CheckFinding:
    if same:
        words = f"Reading the document again with {reader} gives the same text."
        return CheckFinding(Level.L0, "reading", Outcome.PASS, words)
    words = f"Reading the document again with {reader} gives another text."
    return CheckFinding(Level.L0, "reading", Outcome.FAIL, words)


def attestation(
    binding: ObjectHash, inputs: dict[str, Any], found: Verification, receipt: str | None
) -> dict[str, Any]:
    """What the referee attests about a binding, as an object."""
    level = found.verified
    return {
        "format": "attestation/1",
        "target": binding,
        "type": BINDING_VALIDITY,
        "inputs": canonical_hash(inputs),
        "result": result_of(found),
        "level": None if level is None else level.value,
        "findings": [
            {
                "level": item.level.value,
                "check": item.check,
                "outcome": item.outcome.value,
                "words": item.words,
                "data": item.data,
            }
            for item in found.findings
        ],
        "verifier": found.version,
        "receipt": receipt,
    }


def result_of(found: Verification) -> str:
    """What an attestation comes to: a binding is valid if nothing fails and at least L1 passes."""
    if found.failed:
        return "fail"
    return "undecided" if found.verified is None or found.verified.value < "L1" else "pass"
