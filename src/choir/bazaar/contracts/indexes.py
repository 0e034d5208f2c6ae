"""RepoIndex: what the files of a commit define and use, by tree-sitter.

The artifact is a `RepoIndex` (`index_format`). The same commit, languages and tools give the same bytes, whoever makes
them, with a previous index or without: a previous one only says which files need not be parsed again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from choir.bazaar.contracts.base import Hash, OneOf, Rule, Text, Whole, Yes, items
from choir.bazaar.contracts.index_format import IndexLanguage
from choir.bazaar.contracts.patches import Commit
from choir.bazaar.contracts.terms import (
    FREE_TEXT,
    ID,
    STATUS,
    RequestRecord,
    ResultRecord,
    ResultStatus,
    Terms,
    TokenUsage,
)
from choir.foundation.canonical import ObjectHash

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_URL = Text(1_000)
_LANGUAGE = OneOf(IndexLanguage)
_COUNT = Whole(0, 10**12)
ALL_LANGUAGES = tuple(sorted(IndexLanguage))


class Languages(Rule):
    """Which languages, each once, in the order of their names; nothing said means all."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[IndexLanguage, ...]:
        found = {IndexLanguage(_LANGUAGE.read(item, info)) for item in items(value, len(IndexLanguage))}
        return tuple(sorted(found)) or ALL_LANGUAGES


@dataclass(frozen=True, slots=True)
class RepoIndexRequest(RequestRecord):
    """What a buyer orders. The repository is an input."""

    base_commit: Annotated[str, Commit()]  # the commit that is indexed
    terms: Terms
    repo_url: Annotated[str, _URL] = ""  # for people; nothing is fetched from it
    languages: Annotated[tuple[IndexLanguage, ...], Languages()] = ALL_LANGUAGES
    embeddings: Annotated[bool, Yes()] = False  # a vector for each symbol
    # an index that this buyer has bought here before: files that did not change need not be parsed again
    previous: Annotated[ObjectHash, Hash()] | None = None


@dataclass(frozen=True, slots=True)
class RepoIndexResult(ResultRecord):
    """What a provider claims about its index."""

    base_commit: Annotated[str, Commit()]
    symbols: Annotated[int, _COUNT] = 0
    references: Annotated[int, _COUNT] = 0
    parsed_again: Annotated[int, _COUNT] = 0  # files that were not taken from the previous index
    status: Annotated[ResultStatus, STATUS] = ResultStatus.SUCCESS
    error: Annotated[str, FREE_TEXT] = ""
    trajectory_id: Annotated[str, ID] = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
