"""`choir bench commons`: what checking knowledge costs, as ratios within one run.

It starts a PostgreSQL of its own in a temporary folder, with fsync on, and measures the commons as the node uses it.
Ingest is compared with parsing and hashing the same documents; verification with hashing the source; publishing, from
the draft to the open window, with reading the article and verifying its evidence alone.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from choir.benchmarks.measurement import Rate, interleaved, latency
from choir.commons.articles.model import Relation
from choir.commons.composition import Commons
from choir.commons.policy import SourcesPolicy
from choir.commons.publication.referee import Document
from choir.commons.publication.service import REFEREE
from choir.commons.sources.documents import read_document
from choir.commons.sources.model import MediaType, SourceRecord
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import SystemEntropy
from choir.foundation.settings import load_settings
from choir.identity.model import ALL_SCOPES, Principal, Role, agent_owner
from choir.ledger.model import Draft, Leg
from choir.node import Node, build_node
from choir.operations.home import prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.storage.database import Database
from choir.storage.embedded.cluster import DATABASE
from choir.storage.postgres import EmbeddedPostgres

Progress = Callable[[str], None]

_MINT = "world:bench/external/CHIP"
_FACT = "In trial {n} the dampers reduced vibration by {share} percent on {count} bridges. "
_CLAIM = "The dampers reduced vibration by {share} percent on {count} bridges in trial {n}"
_FILLER = "It was a calm day and the crew went on with its work along the eastern side. "
_REMARK = "Remark {n} of this author stands here by itself and rests on nothing else at all. "


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    rounds: int
    documents: int  # in each round
    document_chars: int
    bindings: int
    articles: int
    lengths: tuple[int, ...]  # of sources, in characters


FULL = Size(5, 20, 100_000, 200, 10, (10_000, 100_000, 1_000_000, 4_000_000))
QUICK = Size(2, 5, 50_000, 50, 3, (10_000, 100_000, 1_000_000))


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as home:
        postgres = EmbeddedPostgres(Path(home))
        try:
            server = postgres.start(say)
            # Articles are made by a template here, so none but the first would be new.
            settings = load_settings({"home": str(Path(home) / "node")}, {"CHOIR_POLICY__NOVELTY__SCORE_MIN": "0"})
            prepare_home(settings, SystemEntropy())
            app, owner = (server.dsn(role, DATABASE) for role in ("choir_app", "choir_owner"))
            prepare_database(settings, Dsns(app, owner))
            node = build_node(settings, Database(app).open())
            try:
                return _measure(_Bench(node, size), say)
            finally:
                node.close()
        finally:
            postgres.stop()


def _measure(bench: _Bench, say: Progress) -> dict[str, Any]:
    size = bench.size
    say("Ingest: adding documents, against parsing and hashing them.")
    ingest = interleaved({"added": _Adding(bench), "parsed": _Parsing(bench)}, size.rounds)
    say("Verification: bindings, against hashing their source.")
    verify = interleaved({"bindings": _Verifying(bench), "hashes": _Hashing(bench)}, size.rounds)
    say("Publishing: from the draft to the window, against reading and verifying alone.")
    publish = interleaved({"published": _Publishing(bench), "read": _Reading(bench)}, size.rounds)
    say("How verification grows with the length of the source.")
    growth = [_growth(bench, chars) for chars in size.lengths]
    first, last = growth[0], growth[-1]
    return {
        "size": asdict(size),
        "ingest": _shown(ingest),
        "verify": _shown(verify),
        "publish": _shown(publish),
        "growth": growth,
        "ratios": {
            "ingest_of_parsing": _ratio(ingest, "added", "parsed"),
            "verify_of_hashing": _ratio(verify, "bindings", "hashes"),
            "publish_of_reading": _ratio(publish, "published", "read"),
            "length": round(last["chars"] / first["chars"], 1),
            "time_for_length": round(last["p50_ms"] / first["p50_ms"], 1),
        },
    }


def _shown(rates: dict[str, Rate]) -> dict[str, Any]:
    return {
        name: {"per_second": round(rate.median, 1), "low": round(rate.low, 1), "high": round(rate.high, 1)}
        for name, rate in rates.items()
    }


def _ratio(rates: dict[str, Rate], ours: str, peer: str) -> float:
    return round(rates[ours].median / rates[peer].median, 3)


def text_of(chars: int, seed: int = 0) -> str:
    """A source of that length; every tenth sentence is a fact that can be cited."""
    parts: list[str] = []
    length = n = 0
    while length < chars:
        part = _FILLER if n % 10 else _FACT.format(n=seed * 100_000 + n, share=10 + n % 80, count=20 + n % 97)
        parts.append(part)
        length += len(part)
        n += 1
    return "".join(parts).strip()


def claims_of(text: str, count: int) -> list[tuple[str, int, int]]:
    """Facts of such a text as claims in other words, and where each stands."""
    found: list[tuple[str, int, int]] = []
    start = text.find("In trial ")
    while start >= 0 and len(found) < count:
        end = text.index(". ", start) + 1
        words = text[start:end].split()
        claim = _CLAIM.format(n=words[2], share=words[8], count=words[11])
        found.append((claim, start, end))
        start = text.find("In trial ", end)
    return found


class _Bench:
    """A node with an author who has enough CHIP."""

    def __init__(self, node: Node, size: Size) -> None:
        self.node = node
        self.size = size
        self.commons = node.of(Commons)
        self.seed = 0
        agent = UUID(int=7)
        self.who = Principal(Role.AGENT, agent_owner(agent), agent=agent, scopes=ALL_SCOPES)
        account = f"{self.who.source}/available/CHIP"
        with node.unit_of_work() as tx:
            node.accounts.open(tx, [_MINT, account], reason="a benchmark", source="bench")
            node.ledger.post(tx, Draft("deposit", "a benchmark", "bench", "fund", (Leg(_MINT, account, 10**15),)))
        self.text = text_of(size.document_chars)
        self.source = self.add(self.text)
        self.claims = claims_of(self.text, size.bindings)

    def fresh(self) -> str:
        """A text that no other has."""
        self.seed += 1
        return text_of(self.size.document_chars, self.seed)

    def add(self, text: str, media_type: str = "text/plain") -> SourceRecord:
        document = self.commons.sources.prepare(text.encode(), media_type, None)
        return self.node.write(lambda tx: self.commons.sources.add(tx, self.who, document, origin="upload"))[0]

    def document(self) -> Document:
        return Document(self.source, self.text.encode(), self.text)


def _html(text: str) -> str:
    paragraphs = "".join(f"<p>{part}.</p>" for part in text.split(". "))
    return f"<!doctype html><html><head><title>A report</title></head><body>{paragraphs}</body></html>"


class _Ingest:
    """A round of documents: half plain text, half HTML."""

    def __init__(self, bench: _Bench) -> None:
        self.bench = bench
        self.documents: list[tuple[str, MediaType]] = []

    def prepare(self) -> None:
        self.documents = []
        for n in range(self.bench.size.documents):
            text = self.bench.fresh()
            self.documents.append((_html(text), MediaType.HTML) if n % 2 else (text, MediaType.TEXT))


class _Adding(_Ingest):
    def run(self) -> int:
        for text, media_type in self.documents:
            self.bench.add(text, media_type.value)
        return len(self.documents)


class _Parsing(_Ingest):
    def run(self) -> int:
        policy = self.bench.node.policy.of(SourcesPolicy)
        for text, media_type in self.documents:
            data = text.encode()
            read = read_document(data, media_type, policy)
            hashlib.sha256(data).digest()
            hashlib.sha256(read.text.encode()).digest()
        return len(self.documents)


class _Verifying:
    """Bindings of one source, verified as a review does: its snapshot once, then each binding."""

    def __init__(self, bench: _Bench) -> None:
        self._bench = bench

    def prepare(self) -> None:
        pass

    def run(self) -> int:
        verified = verify_all(self._bench, self._bench.document(), self._bench.claims)
        assert verified == len(self._bench.claims), "the benchmark's own claims must pass"
        return verified


class _Hashing(_Verifying):
    def run(self) -> int:
        data = self._bench.text.encode()
        for _ in self._bench.claims:
            hashlib.sha256(data).digest()
        return len(self._bench.claims)


def verify_all(bench: _Bench, document: Document, claims: list[tuple[str, int, int]]) -> int:
    """How many of these are verified to L2."""
    referee = bench.commons.referee
    snapshot = referee.snapshot(document, again=False)
    count = 0
    for claim, start, end in claims:
        span = bytes_hash(document.text[start:end].encode())
        found = referee.check(claim, Relation.SUPPORTS, document, snapshot, start, end, span)
        count += found.verified is not None and found.verified.value == "L2"
    return count


class _Articles:
    """A round of drafts, each with three claims on one source."""

    def __init__(self, bench: _Bench) -> None:
        self.bench = bench
        self.texts: list[str] = []

    def prepare(self) -> None:
        self.texts = [self._article() for _ in range(self.bench.size.articles)]

    def _article(self) -> str:
        bench = self.bench
        bench.seed += 1
        remarks = "".join(_REMARK.format(n=bench.seed * 100 + n) for n in range(12))
        body = "\n\n".join(f"[{claim}]{{#c{n}}}." for n, (claim, _, _) in enumerate(bench.claims[:3]))
        lines = "\n".join(
            f"c{n} supports {bench.source.hash}@{start}-{end}" for n, (_, start, end) in enumerate(bench.claims[:3])
        )
        return f"# Report {bench.seed}\n\n{body}\n\n{remarks}\n\n```evidence\n{lines}\n```\n"


class _Publishing(_Articles):
    def run(self) -> int:
        node, commons = self.bench.node, self.bench.commons
        for text in self.texts:
            read = commons.articles.read(text, None, None)
            article, _ = node.write(lambda tx, read=read: commons.articles.create(tx, self.bench.who, read))  # type: ignore[misc]
            key = str(article.id)
            examined = commons.publications.examine(node.read, self.bench.who, article.id)
            published = node.write(
                lambda tx, examined=examined, key=key: commons.publications.publish(tx, self.bench.who, examined, key)  # type: ignore[misc]
            )[0]
            look = commons.publications.evidence.look(node.read, REFEREE, read, again=True)
            done = node.write(
                lambda tx, id_=published.id, read=read, look=look: commons.publications.conclude(tx, id_, read, look)  # type: ignore[misc]
            )
            assert done.window_until_us is not None, "the benchmark's own articles must pass"
        return len(self.texts)


class _Reading(_Articles):
    def run(self) -> int:
        bench = self.bench
        document = bench.document()
        for text in self.texts:
            read = bench.commons.articles.read(text, None, None)
            bench.commons.referee.look(read, document, again=False)
        return len(self.texts)


def _growth(bench: _Bench, chars: int) -> dict[str, Any]:
    """One claim's verification in a source of that length, everything that depends on the length included."""
    text = text_of(chars, 9)
    data = text.encode()
    name = bytes_hash(data)
    record = replace(bench.source, bytes=name, text=name, size=len(data), chars=len(text))
    [claim] = claims_of(text, 1)
    samples, hashing = [], []
    for _ in range(5 if chars > 10**6 else 20):
        began = time.perf_counter()
        hashlib.sha256(data).digest()
        hashing.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert verify_all(bench, Document(record, data, text), [claim]) == 1
        samples.append(time.perf_counter() - began)
    return {"chars": chars, **latency(samples).as_json(), "hash_ms": latency(hashing).as_json()["p50_ms"]}
