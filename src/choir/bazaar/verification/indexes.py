"""RepoIndex: the index is of this commit, and what it says stands there.

Looked at in full: its shape, the files of the commit with their hashes, the counts, and that references are resolved as
the rule says. Looked at by samples that are drawn afresh for each delivery: names and lines of symbols, places of
references, and whole files, which our own indexer reads again and must say the same of. A file that is said to have
broken the parser is always read again. Large files are drawn more often, in proportion to their size.

Guarantees: an index that leaves out, invents or moves what files define passes only while no sample meets it; in a
dispute every file is read again. What is paid for is counted here: tokens of the files that the index covers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from choir.bazaar.contracts import RepoIndex, RepoIndexRequest, RepoIndexResult
from choir.bazaar.contracts.index_format import IndexedFile, Skip, Symbol, resolved, vector_of
from choir.bazaar.verification import indexing
from choir.bazaar.verification.indexing import Embedder, Indexer, Survey
from choir.bazaar.verification.model import Delivery, Findings, Order
from choir.bazaar.verification.texts import count_tokens
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import Entropy
from choir.foundation.errors import ChoirError, TooLarge

T = TypeVar("T")
Fault = tuple[str, str]
GOOD: Fault = ("", "")
_BPS = 10_000


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """One delivery of an index."""

    order: Order
    delivery: Delivery
    found: Survey
    indexer: Indexer
    findings: Findings
    chance: random.Random
    every_file: bool = False  # read all of them again, as a dispute needs it
    embedder: Embedder | None = None

    def run(self) -> None:
        """All checks, the cheap ones first."""
        request, policy = self.order.request, self.indexer.policy
        assert isinstance(request, RepoIndexRequest)
        need = self.findings.need
        index = self._read()
        need("order", *self._order_fault(request, index))
        need("files", *_files_fault(self.found, index), evidence={"files": len(index.files)})
        need("counts", *self._counts_fault(index))
        unresolved = resolved(index.files) != index.files
        fault = ("index.references_unresolved", "References are not resolved as the format says.")
        need("resolution", *(fault if unresolved else GOOD))
        texts = _Texts(self.found)
        symbols = self._drawn(
            [(file, item) for file in index.files for item in file.symbols], policy.index_symbols_sampled
        )
        need("symbols", *_first(_symbol_fault(texts, *item) for item in symbols), evidence={"sampled": len(symbols)})
        need("references", *self._references_fault(index, texts))
        need("embeddings", *self._vectors_fault(index))
        self._again(index)
        evidence = {
            "index": bytes_hash(self.delivery.artifact),
            "symbols": index.symbols,
            "references": index.references,
        }
        need("whole index", evidence=evidence)
        self.findings.units_milli = tokens_of(self.found)

    def _read(self) -> RepoIndex:
        try:
            index = RepoIndex.from_bytes(self.delivery.artifact, self.indexer.policy)
        except TooLarge:
            self.findings.need("shape", "index.too_large", "The index is larger than the limit.")
        except ChoirError:
            self.findings.need("shape", "index.malformed", "The index does not have the required shape.")
        self.findings.need("shape")
        return index

    def _order_fault(self, request: RepoIndexRequest, index: RepoIndex) -> Fault:
        result = self.delivery.result
        assert isinstance(result, RepoIndexResult)
        if request.base_commit != index.commit or result.base_commit != request.base_commit:
            return "index.wrong_commit", "The index is of another commit."
        if index.languages != tuple(item.value for item in request.languages):
            return "index.wrong_languages", "The index is of other languages than ordered."
        if request.embeddings != (index.embedding is not None):
            return "index.wrong_embeddings", "The index has no embeddings although ordered, or has some unordered."
        return GOOD

    def _counts_fault(self, index: RepoIndex) -> Fault:
        result = self.delivery.result
        assert isinstance(result, RepoIndexResult)
        if (result.symbols, result.references) != (index.symbols, index.references):
            return "index.counts_differ", "The result claims other numbers than the index has."
        return GOOD

    def _drawn(self, items: Sequence[T], most: int) -> list[T]:
        return list(items) if len(items) <= most else self.chance.sample(items, most)

    def _references_fault(self, index: RepoIndex, texts: _Texts) -> Fault:
        places = [(file, item.name, place) for file in index.files for item in file.references for place in item.places]
        drawn = self._drawn(places, self.indexer.policy.index_references_sampled)
        return _first(_reference_fault(texts, *item) for item in drawn)

    def _vectors_fault(self, index: RepoIndex) -> Fault:
        """Vectors of a model that we have too must be the model's; of another one only the shape is known."""
        ours = self.embedder
        if index.embedding is None or ours is None or index.embedding.model != ours.name:
            return GOOD
        having = [file for file in index.files if file.symbols]
        for file in self._drawn(having, self.indexer.policy.index_files_sampled):
            place = self.chance.randrange(len(file.symbols))
            expected = ours.embed([indexing.meaning(file.symbols[place])])[0]
            if vector_of(file.vectors[place]) != tuple(expected):
                return "index.vectors_differ", "An embedding is not what the named model gives."
        return GOOD

    def _again(self, index: RepoIndex) -> None:
        """Have our own indexer read some files, and compare all that it says of them."""
        delivered = {file.path: file for file in index.files}
        drawn = [file for file in self.found.files if file.is_parsed and delivered[file.path].skipped]
        others = [file for file in self.found.files if file.is_parsed and not delivered[file.path].skipped]
        drawn += others if self.every_file else self._weighted(others)
        ours, tier = self.indexer.parse(self.found, drawn)
        self.findings.tier = tier
        same_tools = dict(index.tools) == dict(indexing.tools())
        least = _BPS if same_tools else self.indexer.policy.index_agreement_bps
        equal, all_ = 0, 0
        for file in ours:
            one, other = _facts(file), _facts(delivered[file.path])
            equal += (one & other).total()
            all_ += (one | other).total()
        fault = GOOD
        if equal * _BPS < all_ * least:
            fault = ("index.symbols_differ", "Indexed again, sampled files have other symbols or references.")
        evidence = {"files": len(drawn), "equal": equal, "of": all_, "same_tools": same_tools}
        details = (
            fault[1]
            or f"{len(drawn)} of {len(others) + len(drawn) - len(set(drawn) & set(others))} files were indexed again."
        )
        self.findings.need("indexed again", fault[0], details, evidence=evidence)

    def _weighted(self, files: Sequence[IndexedFile]) -> list[IndexedFile]:
        """Some files, each in proportion to its size; smaller numbers of a random power come first."""
        keys = {file.path: self.chance.random() ** (1 / (file.bytes + 1)) for file in files}
        return sorted(files, key=lambda file: -keys[file.path])[: self.indexer.policy.index_files_sampled]


def verify(
    order: Order,
    delivery: Delivery,
    found: Survey,
    indexer: Indexer,
    entropy: Entropy,
    findings: Findings,
    *,
    every_file: bool,
    embedder: Embedder | None,
) -> None:
    """All checks of an index."""
    chance = random.Random(entropy.bytes(32))  # noqa: S311 - seeded by the verifier's own entropy
    IndexCheck(order, delivery, found, indexer, findings, chance, every_file, embedder).run()


def tokens_of(found: Survey) -> int:
    """What the price counts: tokens of the files that are parsed, by the measure that texts are paid by."""
    return sum(count_tokens(found.text(file.path)) for file in found.files if file.is_parsed)


class _Texts:
    """Texts of sampled files, and where their lines begin."""

    def __init__(self, found: Survey) -> None:
        self._found = found
        self._known: dict[str, tuple[str, list[int]]] = {}

    def of(self, path: str) -> tuple[str, list[int]]:
        if path not in self._known:
            text = self._found.text(path)
            self._known[path] = text, _line_starts(text)
        return self._known[path]


def _line_starts(text: str) -> list[int]:
    starts, place = [0], text.find("\n")
    while place >= 0:
        starts.append(place + 1)
        place = text.find("\n", place + 1)
    return starts


def _first(faults: Iterator[Fault]) -> Fault:
    return next((found for found in faults if found[0]), GOOD)


def _files_fault(found: Survey, index: RepoIndex) -> Fault:
    """That the index lists the commit's files and no others, each as it is."""
    ours = {file.path: file for file in found.files}
    theirs = {file.path: _bare(file) for file in index.files}
    if ours.keys() - theirs.keys():
        return "index.file_missing", "A file of the commit is missing in the index."
    if theirs.keys() - ours.keys():
        return "index.file_absent", "The index lists a file that is not in the commit."
    if any(not _same_file(ours[path], theirs[path]) for path in ours):
        return "index.file_differs", "A file is not what the index says: hash, size, lines, language or reason to skip."
    return GOOD


def _bare(file: IndexedFile) -> IndexedFile:
    return replace(file, errors=False, symbols=(), references=(), vectors=())


def _same_file(ours: IndexedFile, theirs: IndexedFile) -> bool:
    if theirs.skipped == Skip.PARSER and ours.is_parsed:  # whether the parser really gives up is seen later
        return replace(ours, skipped=theirs.skipped, lines=0) == theirs
    return ours == theirs


def _symbol_fault(texts: _Texts, file: IndexedFile, item: Symbol) -> Fault:
    text, starts = texts.of(file.path)
    absent = ("index.symbol_absent", "A symbol is not where the index says.")
    if item.span[1] > len(text) or text[item.at : item.at + len(item.name)] != item.name:
        return absent
    first, last = item.lines
    begins = starts[first - 1] <= item.span[0] <= (starts[first] - 1 if first < len(starts) else len(text))
    ends = starts[last - 1] <= item.span[1] <= (starts[last] - 1 if last < len(starts) else len(text))
    return GOOD if begins and ends else absent


def _reference_fault(texts: _Texts, file: IndexedFile, name: str, place: tuple[int, int]) -> Fault:
    text, starts = texts.of(file.path)
    begin = starts[place[0] - 1] + place[1] - 1
    if text[begin : begin + len(name)] != name or "\n" in name:
        return "index.reference_absent", "A name is not used where the index says."
    return GOOD


def _facts(file: IndexedFile) -> Counter[object]:
    """All that is compared of a file; which symbol a reference means is checked elsewhere."""
    facts: list[object] = [(file.skipped, file.errors)]
    facts += [replace(item, id="") for item in file.symbols]
    facts += [(item.name, item.kind, item.at) for item in file.references]
    return Counter(facts)
