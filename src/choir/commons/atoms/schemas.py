"""The content of each kind of atom, and how it is read from untrusted JSON.

Guarantees: a field that is not known is refused; nothing is converted; text is in normal form and has no invisible or
direction-changing characters; what was read and written again has the same bytes. Numbers are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from choir.commons.articles.model import Relation
from choir.commons.atoms.model import BadAtom, Kind
from choir.commons.policy import CommonsPolicy, SourcesPolicy
from choir.commons.sources.text import normalise
from choir.foundation.canonical import ObjectHash, parse_object_hash

_CHARS_MAX = 900_000  # of any text; policy allows less
_LIST_MAX = 20_000
_OFFSET_MAX = 10**9


def _normal(text: str) -> str:
    if normalise(text) != text:
        msg = "it must be normalised text without invisible characters"
        raise ValueError(msg)
    return text


def _one_line(text: str) -> str:
    if "\n" in text:
        msg = "it must be one line"
        raise ValueError(msg)
    return text


def _hash(text: str) -> ObjectHash:
    try:
        return parse_object_hash(text)
    except Exception:
        msg = "it must be sha256: and 64 hex digits"
        raise ValueError(msg) from None


Text = Annotated[str, Field(min_length=1, max_length=_CHARS_MAX), AfterValidator(_normal)]
Line = Annotated[Text, AfterValidator(_one_line)]
Hash = Annotated[str, AfterValidator(_hash)]
Hashes = Annotated[tuple[Hash, ...], Field(max_length=_LIST_MAX)]
Offset = Annotated[int, Field(ge=0, le=_OFFSET_MAX)]
Topic = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


class Body(BaseModel):
    """Base of all contents."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The atoms without which it has no footing."""
        return ()

    @property
    def words(self) -> str:
        """What it can be found by."""
        return ""

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


class Origin(Body):
    """Where a document came from."""

    type: Literal["file", "upload", "url", "article"]
    url: Annotated[str, Field(max_length=2_000)] | None = None
    article: Hash | None = None  # the synthesis that it is the text of


class Source(Body):
    """A document."""

    kind: Literal["SOURCE"] = "SOURCE"
    media_type: Annotated[str, Field(min_length=1, max_length=100)]
    bytes: Hash
    size: Offset
    text: Hash
    chars: Offset
    reader: Annotated[str, Field(min_length=1, max_length=200)]
    origin: Origin
    title: Annotated[str, Field(max_length=2_000), AfterValidator(_normal)]
    fetched_at: Annotated[str, Field(max_length=40)]

    @property
    def rests_on(self) -> tuple[str, ...]:
        return () if self.origin.article is None else (self.origin.article,)

    @property
    def words(self) -> str:
        return self.title


class Extract(Body):
    """A span of a source's text: a pointer, never a paste."""

    kind: Literal["EXTRACT"] = "EXTRACT"
    source: Hash
    start: Offset
    end: Offset
    span: Hash

    @property
    def rests_on(self) -> tuple[str, ...]:
        return (self.source,)


class Claim(Body):
    """One normalised statement, with its scope."""

    kind: Literal["CLAIM"] = "CLAIM"
    text: Line
    scope: Line | None = None

    @property
    def words(self) -> str:
        return self.text


class Binding(Body):
    """What an extract does to a claim: the unit of promotion."""

    kind: Literal["BINDING"] = "BINDING"
    claim: Hash
    extract: Hash
    relation: Annotated[Relation, Field(strict=False)]
    confidence_bps: Annotated[int, Field(ge=1, le=10_000)]

    @property
    def rests_on(self) -> tuple[str, ...]:
        return (self.claim, self.extract)


class Omission(Body):
    """A missing cluster about something, with pointers to what is missing."""

    kind: Literal["OMISSION"] = "OMISSION"
    about: Hash
    statement: Text
    extracts: Annotated[tuple[Hash, ...], Field(min_length=1, max_length=_LIST_MAX)]

    @property
    def rests_on(self) -> tuple[str, ...]:
        return self.extracts

    @property
    def words(self) -> str:
        return self.statement


class Hyperthesis(Body):
    """A disclosed, bounded blind spot or exploit pattern."""

    kind: Literal["HYPERTHESIS"] = "HYPERTHESIS"
    statement: Text
    bound: Text
    about: Hash | None = None

    @property
    def words(self) -> str:
        return self.statement


class Conjecture(Body):
    """A claim with its test, its edge, the change of observation that it expects, and its scope."""

    kind: Literal["CONJECTURE"] = "CONJECTURE"
    claim: Hash
    test: Text
    edge: Text
    expected_change: Text
    scope: Text

    @property
    def rests_on(self) -> tuple[str, ...]:
        return (self.claim,)

    @property
    def words(self) -> str:
        return f"{self.test}\n{self.expected_change}"


class Synthesis(Body):
    """A version of one article: its text and all that it rests on."""

    kind: Literal["SYNTHESIS"] = "SYNTHESIS"
    article: Annotated[str, Field(pattern=r"^article_[0-9a-z]{26}$")]  # so that nobody else's text is the same atom
    title: Line
    text: Annotated[str, Field(min_length=1, max_length=_CHARS_MAX)]
    topics: tuple[Topic, ...]
    bindings: Hashes
    quotes: Hashes  # extracts that its text renders
    hypertheses: Hashes
    cites: Hashes
    previous: Hash | None = None

    @property
    def rests_on(self) -> tuple[str, ...]:
        return (*self.bindings, *self.quotes, *self.hypertheses)

    @property
    def words(self) -> str:
        return self.title


Content = Source | Extract | Claim | Binding | Omission | Hyperthesis | Conjecture | Synthesis
_ADAPTER: TypeAdapter[Content] = TypeAdapter(Annotated[Content, Field(discriminator="kind")])


@contextmanager
def refusing() -> Iterator[None]:
    """What is no valid content in here is refused as such. Also a decorator."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "kind"
        raise BadAtom(why=f"{where[:60]}: {first['msg'].removeprefix('Value error, ')[:200]}") from None


@refusing()
def read_content(value: Any) -> Content:
    """The content of an atom from an untrusted JSON value."""
    return _ADAPTER.validate_python(_with_tuples(value))


def kind_of(content: Content) -> Kind:
    return Kind(content.kind)


def check_limits(content: Content, commons: CommonsPolicy, sources: SourcesPolicy) -> None:
    """Raise if a content is larger than this node takes."""
    limits = {
        "text": commons.claim_chars_max if isinstance(content, Claim) else commons.article_chars_max,
        "scope": commons.statement_chars_max,
        "statement": commons.statement_chars_max,
        "bound": commons.statement_chars_max,
        "test": commons.statement_chars_max,
        "edge": commons.statement_chars_max,
        "expected_change": commons.statement_chars_max,
        "title": sources.title_chars_max,
        "extracts": commons.pointers_max,
        "bindings": commons.bindings_max,
        "quotes": commons.quotes_max,
        "hypertheses": commons.pointers_max,
        "topics": commons.topics_max,
    }
    for name, limit in limits.items():
        size = len(getattr(content, name, None) or "")
        if size > limit:
            raise BadAtom(why=f"{name} has {size} characters or items; the limit is {limit}")
    if isinstance(content, Extract) and not 0 < content.end - content.start <= sources.extract_chars_max:
        raise BadAtom(why=f"an extract has 1 to {sources.extract_chars_max} characters")


def _with_tuples(value: Any) -> Any:
    """JSON has lists where the contents have tuples, and nothing else is converted."""
    if not isinstance(value, dict):
        return value
    return {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
