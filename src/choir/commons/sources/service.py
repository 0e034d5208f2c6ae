"""Adding documents, reading their text, finding spans in it and pointing at them.

Guarantees: what is kept of a document is its very bytes and the text that its reader made of them, both by hash; the
same document added twice by the same owner is one source; an extract is made only of a span that is there.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from choir.commons.articles import sentences
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.model import Atom
from choir.commons.atoms.schemas import Extract, Origin, Source
from choir.commons.atoms.service import Atoms, source_holder
from choir.commons.passages.index import PassageIndex
from choir.commons.people import owner_of
from choir.commons.policy import SourcesPolicy
from choir.commons.sources import store
from choir.commons.sources.documents import sniff
from choir.commons.sources.fetching import Fetcher
from choir.commons.sources.model import (
    FoundSpan,
    Pointer,
    PreparedDocument,
    SourceRecord,
    SpanOutside,
    UnknownSource,
)
from choir.commons.sources.reader import DocumentReader
from choir.commons.sources.text import find_span, line, normalise, passages
from choir.commons.takedowns import store as takedown_store
from choir.commons.takedowns.rules import tombstone
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.clock import Clock, format_time
from choir.identity.model import Principal
from choir.objects.service import Objects
from choir.storage.database import Tx

_WORD = re.compile(r"\w+")
_OPENING_CHARS = 80  # of a title that is taken from a text
_TEXTS_CHARS = 20_000_000  # of texts that a process keeps at hand


class Sources:
    """Use cases of documents."""

    def __init__(
        self,
        atoms: Atoms,
        objects: Objects,
        reader: DocumentReader,
        fetcher: Fetcher,
        index: PassageIndex,
        clock: Clock,
        policy: SourcesPolicy,
    ) -> None:
        self._atoms = atoms
        self._objects = objects
        self._reader = reader
        self._fetcher = fetcher
        self._index = index
        self._clock = clock
        self._policy = policy
        self._texts = _Texts()

    # Before a transaction

    def prepare(self, data: bytes, declared: str | None = None, filename: str | None = None) -> PreparedDocument:
        """Read a document and embed its passages; takes a while and touches no database."""
        media_type = sniff(data, declared, filename)
        read = self._reader.read(data, media_type)
        embedded = self._index.embed_source([read.text[start:end] for start, end in self._cut(read.text)])
        return PreparedDocument(data, media_type, read, tuple(embedded))

    def fetch(self, url: str) -> tuple[PreparedDocument, str]:
        """Fetch and read a document; says by which URL it was found in the end."""
        got = self._fetcher.fetch(url)
        return self.prepare(got.data, got.declared, got.filename or None), got.url

    # Adding

    def add(
        self,
        tx: Tx,
        who: Principal,
        document: PreparedDocument,
        *,
        origin: str,
        title: str = "",
        url: str | None = None,
    ) -> tuple[SourceRecord, bool]:
        """Keep a document as a source; says whether it is new."""
        owner = owner_of(who)
        title = self._title(title, document.read.title, _opening(document.read.text))
        known = store.same(tx, owner, bytes_hash(document.data), origin, title, url)
        if known is not None:
            return known, False
        return self.keep(tx, who, owner, document, Origin(type=origin, url=url), title), True  # type: ignore[arg-type]

    def keep(
        self, tx: Tx, who: Principal, owner: str, document: PreparedDocument, origin: Origin, title: str
    ) -> SourceRecord:
        """Keep the bytes, the text and what says so."""
        text = document.read.text
        encoded = text.encode()
        self._objects.put_bytes(tx, {document.data, encoded}, owner)
        now_us = self._clock.now_us()
        content = Source(
            media_type=document.media_type.value,
            bytes=bytes_hash(document.data),
            size=len(document.data),
            text=bytes_hash(encoded),
            chars=len(text),
            reader=document.read.reader,
            origin=origin,
            title=title,
            fetched_at=format_time(now_us),
        )
        atom = self._atoms.make(tx, who, [content], owner=owner)[0]
        self._objects.refer_all(tx, source_holder(atom.id), {ObjectHash(content.bytes), ObjectHash(content.text)})
        record = _record(atom, content, owner, now_us)
        store.insert(tx, record)
        store.add_passages(tx, atom.id, [(start, end, text[start:end]) for start, end in self._cut(text)])
        self._index.add_source(tx, atom.id, document.passages)
        return record

    def _cut(self, text: str) -> list[tuple[int, int]]:
        return passages(text, self._policy.passage_chars)

    def _title(self, *candidates: str) -> str:
        """The first of these that says anything."""
        found = (line(title, self._policy.title_chars_max) for title in candidates)
        return next((title for title in found if title), "Untitled")

    # Reading

    def get(self, tx: Tx, who: Principal, name: ObjectHash) -> SourceRecord:
        """A source that one may read; nobody is told whether others have one."""
        found = store.get(tx, name)
        if found is None or not self._atoms.is_readable(tx, who, name):
            taken = None if found is None else takedown_store.of_atom(tx, found.atom)
            if taken is not None and self._atoms.is_public(tx, name):
                raise tombstone(taken)
            raise UnknownSource(source=name)
        return found

    def page(self, tx: Tx, who: Principal, *, own: bool, before: int | None, limit: int) -> list[SourceRecord]:
        return store.page(tx, who.owners, own=own, before=before, limit=limit)

    def text(self, tx: Tx, who: Principal, name: ObjectHash, start: int = 0, end: int | None = None) -> str:
        """A part of a source's text."""
        source = self.get(tx, who, name)
        return self.text_of(tx, source)[start:end]

    def text_of(self, tx: Tx, source: SourceRecord) -> str:
        """The text of a source that the caller may read."""
        return self._texts.get(source.text, lambda: self._objects.get(tx, source.text).decode())

    @staticmethod
    def article_of(tx: Tx, name: ObjectHash) -> str | None:
        """The published article that a source is the text of."""
        return atom_store.article_of(tx, name)

    def bytes_of(self, tx: Tx, source: SourceRecord) -> bytes:
        return self._objects.get(tx, source.bytes)

    def span(self, tx: Tx, who: Principal, pointer: Pointer) -> str:
        """What a pointer points at."""
        source = self.get(tx, who, pointer.source)
        if not pointer.start < pointer.end <= source.chars:
            raise SpanOutside(start=pointer.start, end=pointer.end, source=source.hash, chars=source.chars)
        return self.text_of(tx, source)[pointer.start : pointer.end]

    def extract(self, tx: Tx, who: Principal, pointer: Pointer) -> Extract:
        """The content of the atom that stands for a span."""
        span = self.span(tx, who, pointer)
        return Extract(source=pointer.source, start=pointer.start, end=pointer.end, span=bytes_hash(span.encode()))

    def find(self, tx: Tx, who: Principal, words: str, source: ObjectHash | None, limit: int) -> list[FoundSpan]:
        """Where something is said, best first: a quote word for word if there is one, else passages by their words.

        Before a quote that is a part of a sentence comes the sentence: evidence that says it whole says more.
        """
        record, words = None if source is None else self.get(tx, who, source), normalise(words)
        if record is not None:
            text = self.text_of(tx, record)
            exact = find_span(text, words)
            if exact is not None:
                return self._with_sentence(record, 0, text, *exact)[:limit]
        within = None if record is None else record.atom
        rows = store.search(tx, words, who.owners, within, limit, self._policy.search_matches_max)
        found = [self._found(item, start, text, words) for item, start, _, text in rows]
        return [span for spans in found for span in spans][:limit]

    def _found(self, source: SourceRecord, starts: int, text: str, words: str) -> list[FoundSpan]:
        """The quote itself if the passage has it, else the passage's sentence that has most of the words."""
        exact = find_span(text, words)
        if exact is not None:
            return self._with_sentence(source, starts, text, *exact)
        return [_span(source, starts, text, *_best_sentence(text, words))]

    def _with_sentence(self, source: SourceRecord, starts: int, text: str, start: int, end: int) -> list[FoundSpan]:
        """A quote, and before it the sentence or sentences that it is a part of."""
        found = [_span(source, starts, text, start, end)]
        around = _sentences_around(text, start, end, self._policy.extract_chars_max)
        return found if around == (start, end) else [_span(source, starts, text, *around), *found]


class _Texts:
    """The texts that were read last, within a number of characters. Texts never change, so they never go stale."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def get(self, name: str, load: Callable[[], str]) -> str:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        text = load()
        with self._lock:
            if name not in self._kept and len(text) <= _TEXTS_CHARS:
                self._kept[name] = text
                self._chars += len(text)
            while self._chars > _TEXTS_CHARS:
                self._chars -= len(self._kept.popitem(last=False)[1])
        return text


def _record(atom: Atom, content: Source, owner: str, now_us: int) -> SourceRecord:
    return SourceRecord(
        hash=atom.hash,
        atom=atom.id,
        state=atom.state,
        owner=owner,
        media_type=content.media_type,
        bytes=ObjectHash(content.bytes),
        text=ObjectHash(content.text),
        size=content.size,
        chars=content.chars,
        reader=content.reader,
        origin=content.origin.type,
        url=content.origin.url,
        title=content.title,
        added_us=now_us,
    )


def _span(source: SourceRecord, starts: int, text: str, start: int, end: int) -> FoundSpan:
    return FoundSpan(Pointer(source.hash, starts + start, starts + end), source.title, text[start:end])


def _opening(text: str) -> str:
    """The first line of a text, for a title where nobody gives one; cut where it is a paragraph."""
    first = next((item for item in map(str.strip, text.splitlines()) if item), "").lstrip("# ")
    return first if len(first) <= _OPENING_CHARS else f"{first[:_OPENING_CHARS].rsplit(' ', 1)[0]}…"


def _sentences_around(text: str, start: int, end: int, chars_max: int) -> tuple[int, int]:
    """The span widened to whole sentences, if that is not too long for an extract.

    What reads like whole sentences stays as it is: a heading before it has no full stop to tell it by.
    """
    if text[start].isupper() and text[end - 1] in ".!?":
        return start, end
    low, high = max(0, start - chars_max), end + chars_max
    around = [(low + item.start, low + item.end) for item in sentences.split(text[low:high])]
    within = [item for item in around if item[0] < end and start < item[1]]
    if not within:
        return start, end
    first, last = min(start, within[0][0]), max(end, within[-1][1])
    cut = first == low > 0 or last == high < len(text) or last - first > chars_max
    return (start, end) if cut else (first, last)


def _best_sentence(text: str, words: str) -> tuple[int, int]:
    """The sentence that has most of the words; the first of those."""
    wanted = {word.casefold() for word in _WORD.findall(words)}
    found = sentences.split(text)
    if not found:
        return 0, len(text)

    def hits(item: sentences.Sentence) -> int:
        return len(wanted & {word.casefold() for word in _WORD.findall(text[item.start : item.end])})

    best = max(found, key=hits)
    return best.start, best.end
