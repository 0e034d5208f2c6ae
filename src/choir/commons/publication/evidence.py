"""Looking at all that an article points to, one source at a time, so that memory holds one document."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from choir.commons.articles.model import ParsedArticle
from choir.commons.atoms.model import State
from choir.commons.atoms.schemas import Source
from choir.commons.atoms.service import Atoms
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import CheckedBinding, Problem
from choir.commons.publication.referee import Document, Referee
from choir.commons.sources.service import Sources
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import NotFound
from choir.identity.model import Principal
from choir.storage.database import Tx

Transact = Callable[[], AbstractContextManager[Tx]]


@dataclass(frozen=True, slots=True)
class EvidenceLook:
    """What was seen."""

    bindings: tuple[CheckedBinding, ...]  # in the order of the evidence; those whose source is there
    spans: dict[str, str]  # the words of each pointer
    cited: dict[ObjectHash, ObjectHash]  # sources that are texts of articles, and of which
    private: tuple[ObjectHash, ...]  # sources that publishing would open to everybody
    problems: tuple[Problem, ...]

    @property
    def complete(self) -> bool:
        """Whether atoms can be made of it at all."""
        return not any(problem.code in ("source", "span", "retracted", "copied") for problem in self.problems)


class EvidenceReader:
    """Reads what an article points to and has the referee look at it."""

    def __init__(self, sources: Sources, atoms: Atoms, referee: Referee, policy: CommonsPolicy) -> None:
        self._sources = sources
        self._atoms = atoms
        self.referee = referee
        self._policy = policy

    def look(self, transact: Transact, who: Principal, article: ParsedArticle, *, again: bool = False) -> EvidenceLook:
        """Everything about an article's evidence; each source is loaded in a transaction of the caller's making."""
        names = sorted({pointer.source for pointer in article.pointers})
        if len(names) > self._policy.sources_max:
            words = f"it points to {len(names)} sources; the limit is {self._policy.sources_max}"
            return EvidenceLook((), {}, {}, (), (Problem("source", words),))
        found = _Look(article)
        for name in names:
            if found.chars > self._policy.evidence_chars_max:
                words = f"its sources have more than {self._policy.evidence_chars_max} characters together"
                found.problems.append(Problem("source", words))
                break
            self._one(transact, who, article, name, found, again=again)
        return found.result()

    def _one(
        self, transact: Transact, who: Principal, article: ParsedArticle, name: ObjectHash, found: _Look, *, again: bool
    ) -> None:
        try:
            with transact() as tx:
                record = self._sources.get(tx, who, name)
                document = Document(record, self._sources.bytes_of(tx, record), self._sources.text_of(tx, record))
                content = self._atoms.content(tx, name)
        except NotFound:
            found.problems.append(Problem("source", f"there is no source {name}, or you may not read it"))
            return
        assert isinstance(content, Source)
        found.chars += record.chars
        if content.origin.article is not None and record.state != State.PROMOTED:
            words = f"the article '{record.title}' is {record.state}; only a promoted article can be cited"
            found.problems.append(Problem("not_promoted", words))
        if content.origin.article is not None:
            found.cited[name] = ObjectHash(content.origin.article)
        if record.state == State.UNTRUSTED:
            found.private.append(name)
        if record.state == State.RETRACTED:
            found.problems.append(Problem("retracted", f"the source {name} was retracted"))
        seen = self.referee.look(article, document, again=again)
        found.bindings |= seen.bindings
        found.spans |= seen.spans
        found.problems += seen.problems


class _Look:
    """What was seen so far."""

    def __init__(self, article: ParsedArticle) -> None:
        self.article = article
        self.chars = 0
        self.bindings: dict[int, CheckedBinding] = {}
        self.spans: dict[str, str] = {}
        self.cited: dict[ObjectHash, ObjectHash] = {}
        self.private: list[ObjectHash] = []
        self.problems: list[Problem] = []

    def result(self) -> EvidenceLook:
        bindings = tuple(self.bindings[n] for n in sorted(self.bindings))
        return EvidenceLook(bindings, self.spans, self.cited, tuple(self.private), tuple(self.problems))
