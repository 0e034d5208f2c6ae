"""`choir bench novelty` and `choir bench search`: finding what is near, as ratios within one run.

Each starts a PostgreSQL of its own in a temporary folder and fills it with passages that no model made: vectors around
random centres, words by their rank. The nearest neighbours are compared with an exhaustive search by numpy over the
same vectors in memory; measuring an article, with embedding it; a search, with its two statements alone.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import psycopg

from choir.benchmarks.measurement import latency
from choir.commons.composition import Commons
from choir.commons.novelty.measure import embedded
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.passages import store as passage_store
from choir.commons.passages.embedding import Vector
from choir.commons.passages.store import literal
from choir.commons.search import store as search_store
from choir.commons.search.policy import SearchPolicy
from choir.foundation.clock import SystemEntropy
from choir.foundation.settings import load_settings
from choir.node import Node, build_node
from choir.operations.home import prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.storage.database import Database
from choir.storage.embedded.cluster import DATABASE, SUPERUSER
from choir.storage.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[str], None]

_MOST = 127
_NEAR = 20  # passages around one centre
_SPREAD = 0.6  # of a passage around its centre
_BATCH = 20_000
_PASSAGES_OF_ARTICLE = 8
_WORDS = 20_000  # that texts are made of
_ARTICLE_WORDS = 1_500
_TEXTS = 50  # different ones, that passages have in turn


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    passages: tuple[int, ...]
    queries: int
    articles: int  # that are measured
    searched: int  # passages for `choir bench search`


FULL = Size((10_000, 100_000), 300, 20, 100_000)
QUICK = Size((2_000, 10_000), 100, 5, 10_000)
MILLION = Size((10_000, 100_000, 1_000_000), 300, 20, 100_000)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A node, and a superuser's connection to its database."""

    node: Node
    superuser: psycopg.Connection
    size: Size
    say: Progress

    @property
    def commons(self) -> Commons:
        return self.node.of(Commons)


@contextmanager
def _bench(size: Size, folder: Path | None, say: Progress) -> Iterator[_Bench]:
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as home:
        postgres = EmbeddedPostgres(Path(home))
        try:
            server = postgres.start(say)
            settings = load_settings({"home": str(Path(home) / "node")}, {})
            prepare_home(settings, SystemEntropy())
            app, owner = (server.dsn(role, DATABASE) for role in ("choir_app", "choir_owner"))
            prepare_database(settings, Dsns(app, owner))
            node = build_node(settings, Database(app).open())
            with psycopg.connect(server.dsn(SUPERUSER, DATABASE), autocommit=True) as superuser:
                # What is filled in stands for what a node would have checked.
                superuser.execute("set session_replication_role = replica")
                superuser.execute("set maintenance_work_mem = '1GB'")
                try:
                    yield _Bench(node, superuser, size, say)
                finally:
                    node.close()
        finally:
            postgres.stop()


# Novelty


def run_novelty(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """Nearest neighbours as the corpus grows, and the novelty of an article; as a JSON value."""
    with _bench(size, folder, say) as bench:
        _fill_source(bench, size.passages[0])
        grown = [_neighbours(bench, size.passages[0])]
        articles = _articles(bench)
        grown += [_neighbours(bench, count) for count in size.passages[1:]]
    first, last = grown[0], grown[-1]
    return {
        "size": asdict(size),
        "neighbours": grown,
        "articles": articles,
        "ratios": {
            "recall_least": min(item["recall"] for item in grown),
            "index_of_numpy": [round(item["index"]["p50_ms"] / item["numpy"]["p50_ms"], 3) for item in grown],
            "passages": round(last["passages"] / first["passages"], 1),
            "time_for_passages": round(last["index"]["p50_ms"] / first["index"]["p50_ms"], 2),
            "novelty_of_embedding": round(articles["novelty"]["p50_ms"] / articles["embedding"]["p50_ms"], 2),
        },
    }


def _neighbours(bench: _Bench, count: int) -> dict[str, Any]:
    import numpy as np

    bench.say(f"Filling in {count} passages and building their index.")
    matrix = vectors_of(count, bench.commons.index.embedder.dims)
    built_s = _fill(bench, matrix)
    unit = matrix.astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    bench.say(f"Asking for the nearest of {bench.size.queries} vectors among {count}.")
    chance = np.random.default_rng(5)
    hits, by_index, by_numpy = 0, [], []
    for row in chance.integers(0, count, bench.size.queries):
        asked = scaled(matrix[row] + chance.normal(0, _SPREAD * _MOST / 3, matrix.shape[1]))
        began = time.perf_counter()
        found = _nearest(bench, asked)
        by_index.append(time.perf_counter() - began)
        began = time.perf_counter()
        exact = int(np.argmax(unit @ (np.array(asked, np.float32) / np.linalg.norm(asked))))
        by_numpy.append(time.perf_counter() - began)
        hits += exact in found
    return {
        "passages": count,
        "recall": round(hits / bench.size.queries, 4),
        "index": latency(by_index).as_json(),
        "numpy": latency(by_numpy).as_json(),
        "build_s": round(built_s, 1),
    }


def vectors_of(count: int, dims: int) -> NDArray[np.int16]:
    """Whole-number vectors around random centres."""
    import numpy as np

    chance = np.random.default_rng(count)
    centres = chance.normal(0, 1, (max(1, count // _NEAR), dims)).astype(np.float32)
    found = np.empty((count, dims), np.int16)
    for start in range(0, count, _BATCH):
        rows = np.arange(start, min(count, start + _BATCH))
        near = centres[rows % len(centres)] + chance.normal(0, _SPREAD, (len(rows), dims))
        found[rows] = np.rint(near * (_MOST / np.abs(near).max(axis=1, keepdims=True)))
    return found


def scaled(values: NDArray[np.float64]) -> Vector:
    import numpy as np

    return tuple(int(x) for x in np.rint(values * (_MOST / np.abs(values).max())))


def _fill(bench: _Bench, matrix: NDArray[np.int16]) -> float:
    """Replace all passages by these, as those of one source; says how long the index took, in seconds."""
    run = bench.superuser.execute
    run("truncate passages")
    index = bench.superuser.execute("select indexdef from pg_indexes where indexname = 'passages_256'").fetchone()
    assert index is not None
    run("drop index passages_256")
    model = bench.commons.index.embedder.name
    with bench.superuser.cursor().copy("copy passages (source, n, words, model, vector, position) from stdin") as copy:
        for n, row in enumerate(matrix):
            copy.write_row((1, n, 200, model, literal(row.tolist()), 1))
    run("update submissions_head set position = 1, passages = %s", [len(matrix)])
    began = time.perf_counter()
    run(index[0])
    run("analyze passages")
    return time.perf_counter() - began


def _fill_source(bench: _Bench, passages: int) -> None:
    """The source that all passages are of, with texts for those that articles are measured against."""
    run = bench.superuser.execute
    run(
        "insert into atoms (id, hash, kind, state, made_us) overriding system value"
        " values (1, sha256('bench'), 'SOURCE', 'PROMOTED', 0)"
    )
    run(
        "insert into sources values (1, null, 'text/plain', sha256('b'), sha256('t'), 1, 1, 'bench', 'file', null,"
        " 'A source', 0)"
    )
    texts = [text_of(1_000_000 + n, 200) for n in range(_TEXTS)]
    run(
        "insert into source_passages (source, n, starts, ends, text)"
        " select 1, n, n, n + 1, (%s::text[])[n %% %s + 1] from generate_series(0, %s) n",
        [texts, _TEXTS, passages - 1],
    )


def _nearest(bench: _Bench, asked: Vector) -> list[int]:
    """The numbers of the passages that the index finds."""
    policy = bench.node.policy.of(NoveltyPolicy)
    with bench.node.read() as tx:
        found = passage_store.nearest(
            tx, [asked], bench.commons.index.embedder.name,
            article=UUID(int=0), after=0, own_sources=(), k=1, width=policy.search_width, exactly=False,
        )[0]  # fmt: skip
    return [item.n for item in found]


def _articles(bench: _Bench) -> dict[str, Any]:
    """Measuring an article of 1500 words against all passages, and embedding it alone."""
    commons, policy = bench.commons, bench.node.policy.of(NoveltyPolicy)
    whole, alone = [], []
    bench.say(f"Measuring {bench.size.articles} articles of {_ARTICLE_WORDS} words.")
    for n in range(bench.size.articles + 1):
        read = commons.articles.read(f"# Article {n}\n\n{text_of(n, _ARTICLE_WORDS)}\n", None, None)
        began = time.perf_counter()
        embedded(read.markdown, commons.index.embedder, policy)
        middle = time.perf_counter()
        look = commons.novelty.look(bench.node.read, UUID(int=n), "person:bench", read, ())
        commons.novelty.quote(look)
        if n:  # the first loads what is heavy
            alone.append(middle - began)
            whole.append(time.perf_counter() - middle)
    return {"novelty": latency(whole).as_json(), "embedding": latency(alone).as_json()}


def text_of(seed: int, words: int) -> str:
    """Words by their rank, in sentences."""
    chance = random.Random(seed)  # noqa: S311 - a text, no secret
    found = [f"w{min(_WORDS, int(chance.paretovariate(0.7)))}" for _ in range(words)]
    return " ".join(f"{' '.join(found[n : n + 12]).capitalize()}." for n in range(0, words, 12))


def query_of(seed: int) -> str:
    """A few words that some texts have; the most frequent ones stand for those that no search looks at."""
    chance = random.Random(-1 - seed)  # noqa: S311 - a query, no secret
    return " ".join(f"w{chance.randint(30, 2_000)}" for _ in range(3))


# Search


def run_search(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """A whole search, and its two statements alone; as a JSON value."""
    with _bench(size, folder, say) as bench:
        _fill_articles(bench, size.searched // _PASSAGES_OF_ARTICLE)
        whole: list[float] = []
        words: list[float] = []
        sense: list[float] = []
        say(f"Searching {size.queries} times.")
        for n in range(size.queries + 1):
            query = query_of(n)
            found = _timed(bench, query)
            if n:
                for samples, sample in zip((whole, words, sense), found, strict=True):
                    samples.append(sample)
    parts = {"search": latency(whole), "by_words": latency(words), "by_sense": latency(sense)}
    alone = parts["by_words"].p50_ms + parts["by_sense"].p50_ms
    return {
        "size": asdict(size),
        "articles": size.searched // _PASSAGES_OF_ARTICLE,
        **{name: found.as_json() for name, found in parts.items()},
        "ratios": {"search_of_its_statements": round(parts["search"].p50_ms / alone, 2)},
    }


def _timed(bench: _Bench, query: str) -> tuple[float, float, float]:
    policy, embedder = bench.node.policy.of(SearchPolicy), bench.commons.index.embedder
    with bench.node.read() as tx:
        times = [time.perf_counter()]
        bench.commons.search.find(tx, query)
        times.append(time.perf_counter())
        search_store.by_words(tx, query, None, 0, policy.candidates)
        times.append(time.perf_counter())
        [vector] = embedder.embed([query])
        search_store.by_sense(tx, vector, embedder.name, None, policy.candidates, policy.width, policy.sense_ppm_max)
        times.append(time.perf_counter())
    return times[1] - times[0], times[2] - times[1], times[3] - times[2]


def _fill_articles(bench: _Bench, articles: int) -> None:
    bench.say(f"Filling in {articles} articles of {_PASSAGES_OF_ARTICLE} passages.")
    run = bench.superuser.execute
    index = run("select indexdef from pg_indexes where indexname = 'passages_256'").fetchone()
    assert index is not None
    run("drop index passages_256")
    ids = [(uuid4(), uuid4()) for _ in range(articles)]
    matrix = vectors_of(articles * _PASSAGES_OF_ARTICLE, bench.commons.index.embedder.dims)
    _copy_passages(bench, ids, [literal(row.tolist()) for row in matrix])
    with bench.superuser.cursor().copy(
        "copy article_index (article, publication, title, topics, author, confidence_bps, bindings, promoted_us, words)"
        " from stdin"
    ) as copy:
        for n, (article, publication) in enumerate(ids):
            copy.write_row((article, publication, f"Article {n}", [], f"person:{n % 997}", 9_000, 10, n, ""))
    run(
        "update article_index i set words = to_tsvector('english', p.text) from"
        " (select publication, string_agg(text, ' ') as text from passages group by publication) p"
        " where p.publication = i.publication"
    )
    bench.say("Building the index.")
    run(index[0])
    run("analyze passages")
    run("analyze article_index")


def _copy_passages(bench: _Bench, ids: Sequence[tuple[UUID, UUID]], vectors: Sequence[str]) -> None:
    model = bench.commons.index.embedder.name
    columns = "publication, article, n, words, text, model, vector, position"
    with bench.superuser.cursor().copy(f"copy passages ({columns}) from stdin") as copy:
        for at, (article, publication) in enumerate(ids):
            for n in range(_PASSAGES_OF_ARTICLE):
                row = at * _PASSAGES_OF_ARTICLE + n
                copy.write_row((publication, article, n, 200, text_of(row, 200), model, vectors[row], at + 1))
