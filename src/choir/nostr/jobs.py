"""Jobs as Nostr events (NIP-90): requests 5930 to 5933 and 5050, results (a thousand higher), feedback 7000.

An adapter at the edge: a job's contract does not know of it. Amounts follow NIP-90 and are millisatoshi; an `amount`
with the word `bolt11` before its invoice is an older form, in satoshi, and is read too.

Guarantees: every field is read back as it was written, and tags that are not known are kept; what a provider says of
itself (exit codes, counts, hashes) is carried as a claim. `privately` leaves nothing readable but whom an event is for,
what it answers, and the price.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from choir.nostr import nip44
from choir.nostr.events import Draft, NostrEvent, Tags, compact
from choir.nostr.tagged import EXIT_CODE, MSAT, NUMBER, TEXT, TEXTS, YES, BadJobEvent, Form, Value, whole

E = TypeVar("E", bound=StrEnum)

FEEDBACK_KIND = 7000
RESULT_OFFSET = 1000  # NIP-90
JOB_NAMES = {5930: "SandboxRun", 5931: "RepoIndex", 5932: "PatchGen", 5933: "CodeReview", 5050: "TextGen"}
_HEX_CHARS = 64

_TERMS = {"max_cost_sats": NUMBER, "time_limit_secs": NUMBER, "idempotency_key": TEXT}
_REPO = {"repo_url": TEXT, "repo_ref": TEXT}
REQUEST_FIELDS: Mapping[int, Mapping[str, Form]] = {
    5930: _REPO | {"command": TEXT, "commands": TEXTS, "env": TEXTS, "image": TEXT} | _TERMS,
    5931: _REPO | {"languages": TEXTS, "embeddings": YES, "previous": TEXT} | _TERMS,
    5932: _REPO
    | {"title": TEXT, "body": TEXT, "subdir": TEXT, "allowed_paths": TEXTS, "disallowed_paths": TEXTS}
    | {"test_command": TEXT, "verification_commands": TEXTS}
    | _TERMS,
    5933: {"diff": TEXT, "repo_url": TEXT, "base_ref": TEXT, "head_ref": TEXT, "focus": TEXTS, "depth": TEXT} | _TERMS,
    5050: {"prompt": TEXT, "system": TEXT, "model": TEXT, "max_tokens": NUMBER, "min_chars": NUMBER, "schema": TEXT}
    | _TERMS,
}
_USAGE = {f"{name}_tokens": NUMBER for name in ("input", "output", "cache_read", "cache_write")}
_CLAIMS = {"trajectory_id": TEXT, "cost_sats": NUMBER} | _USAGE
RESULT_FIELDS: Mapping[int, Mapping[str, Form]] = {
    5930: {"exit_code": EXIT_CODE, "stdout_sha256": TEXT, "stderr_sha256": TEXT, "cpu_ms": NUMBER} | _CLAIMS,
    5931: {"index_sha256": TEXT, "symbols": NUMBER, "references": NUMBER} | _CLAIMS,
    5932: {"patch_sha256": TEXT, "applies_cleanly": YES, "test_exit_code": EXIT_CODE, "files_changed": NUMBER}
    | {"additions": NUMBER, "deletions": NUMBER}
    | _CLAIMS,
    5933: {"review_sha256": TEXT} | _CLAIMS,
    5050: {"text_sha256": TEXT, "model": TEXT} | _CLAIMS,
}
_MAIN_TEXT = {5932: "body", 5933: "diff", 5050: "prompt"}  # what a request's first text is


class ResultStatus(StrEnum):
    """How a provider says that it went."""

    SUCCESS = "success"
    PARTIAL_SUCCESS = "partial_success"
    FAILED = "failed"
    TIMEOUT = "timeout"


class FeedbackStatus(StrEnum):
    """NIP-90."""

    PAYMENT_REQUIRED = "payment-required"
    PROCESSING = "processing"
    ERROR = "error"
    SUCCESS = "success"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Input:
    """An `i` tag: data, or where it is."""

    data: str
    type: str = ""  # text, url, event or job
    relay: str = ""
    marker: str = ""

    def tag(self) -> tuple[str, ...]:
        return _shortened("i", self.data, self.type, self.relay, self.marker)


@dataclass(frozen=True, slots=True)
class Price:
    """An `amount` tag."""

    msat: int
    invoice: str = ""

    def tag(self) -> tuple[str, ...]:
        return _shortened("amount", str(self.msat), self.invoice)


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """What a provider says of one command that it ran."""

    command: str
    exit_code: int
    stdout_sha256: str
    stderr_sha256: str

    def tag(self) -> tuple[str, ...]:
        return ("result", "command", self.command, str(self.exit_code), self.stdout_sha256, self.stderr_sha256)


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What somebody asks for. `fields` has what `REQUEST_FIELDS` says for the kind, where it was given."""

    kind: int
    fields: Mapping[str, Value] = field(default_factory=dict)
    content: str = ""
    inputs: tuple[Input, ...] = ()  # beyond the first text and the first address, which are fields
    output: str = ""
    bid_msat: int | None = None  # a ceiling
    relays: tuple[str, ...] = ()  # where answers are looked for
    providers: tuple[str, ...] = ()  # keys in hex
    topics: tuple[str, ...] = ()
    expires_at: int | None = None
    others: Tags = ()

    def draft(self) -> Draft:
        form = _forms(REQUEST_FIELDS, self.kind)
        own, in_inputs = list(self._own_inputs()), {_MAIN_TEXT.get(self.kind), "repo_url"}
        named = {item.type for item in self.inputs} - {tag[2] for tag in own}
        if named & ({"text"} if self.kind in _MAIN_TEXT else set()) | named & (
            {"url"} if "repo_url" in form else set()
        ):
            raise BadJobEvent(what="inputs", why="the first text and the first address are fields")
        tags = [*own, *(item.tag() for item in self.inputs)]
        if "body" in self.fields and not self.fields.get("title"):
            tags.append(("param", "title", ""))  # what precedes a colon in it is not meant as a title
        tags += [("param", name, text) for name, text in _written(self.fields, form, without=in_inputs)]
        if self.output:
            tags.append(("output", self.output))
        if self.bid_msat is not None:
            tags.append(("bid", str(self.bid_msat)))
        if self.relays:
            tags.append(("relays", *self.relays))
        tags += [("p", key) for key in self.providers] + [("t", topic) for topic in self.topics]
        if self.expires_at is not None:
            tags.append(("expiration", str(self.expires_at)))
        return Draft(self.kind, self.content, (*tags, *self.others))

    def _own_inputs(self) -> Iterator[tuple[str, ...]]:
        main = _MAIN_TEXT.get(self.kind)
        if main is not None and main in self.fields:
            title, text = self.fields.get("title"), str(self.fields[main])
            yield ("i", f"{title}: {text}" if title else text, "text")
        if "repo_url" in self.fields:
            yield ("i", str(self.fields["repo_url"]), "url")


def read_request(event: NostrEvent | Draft) -> JobRequest:
    """A request from an event whose id and signature were checked, or from one that was opened."""
    reader = _Reader(event.tags)
    forms = _forms(REQUEST_FIELDS, event.kind)
    fields = reader.fields("param", forms)
    inputs = reader.inputs()
    main = _MAIN_TEXT.get(event.kind)
    if main is not None and (text := _first(inputs, "text")) is not None:
        fields |= _titled(text.data, fields) if main == "body" else {main: text.data}
        inputs.remove(text)
        if fields.get("title") == "":
            del fields["title"]
    if "repo_url" in forms and (address := _first(inputs, "url")) is not None:
        fields["repo_url"] = address.data
        inputs.remove(address)
    bid = reader.one("bid")
    expires = reader.one("expiration")
    return JobRequest(
        kind=event.kind,
        fields=fields,
        content=event.content,
        inputs=tuple(inputs),
        output=(reader.one("output") or ("",))[0],
        bid_msat=None if bid is None else whole(bid[0], "bid"),
        relays=reader.one("relays", least=0) or (),
        providers=tuple(_hex(key, "p") for key in reader.firsts("p")),
        topics=tuple(reader.firsts("t")),
        expires_at=None if expires is None else whole(expires[0], "expiration"),
        others=reader.rest(),
    )


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a provider hands in. Its kind is that of the request; `fields` are claims, by `RESULT_FIELDS`."""

    request_kind: int
    request_id: str
    customer: str  # the key that asked, in hex
    content: str = ""
    status: ResultStatus | None = None
    error: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)
    commands: tuple[CommandClaim, ...] = ()
    price: Price | None = None
    request: str = ""  # the request as JSON
    inputs: tuple[Input, ...] = ()
    others: Tags = ()

    def draft(self) -> Draft:
        tags: list[tuple[str, ...]] = [("e", self.request_id), ("p", self.customer)]
        if self.status is not None:
            tags.append(_shortened("status", self.status, self.error))
        if self.request:
            tags.append(("request", self.request))
        tags += [item.tag() for item in self.inputs]
        forms = _forms(RESULT_FIELDS, self.request_kind)
        tags += [("result", name, text) for name, text in _written(self.fields, forms)]
        tags += [claim.tag() for claim in self.commands]
        if self.price is not None:
            tags.append(self.price.tag())
        return Draft(self.request_kind + RESULT_OFFSET, self.content, (*tags, *self.others))


def read_result(event: NostrEvent | Draft) -> JobResult:
    reader = _Reader(event.tags)
    kind = event.kind - RESULT_OFFSET
    forms = _forms(RESULT_FIELDS, kind)
    commands = tuple(_command(tag) for tag in reader.take(lambda tag: tag[:2] == ("result", "command")))
    request_id, customer = reader.parties()
    status = reader.one("status")
    return JobResult(
        request_kind=kind,
        request_id=request_id,
        customer=customer,
        content=event.content,
        status=None if status is None else _member(ResultStatus, status[0]),
        error=status[1] if status is not None and len(status) > 1 else "",
        fields=reader.fields("result", forms),
        commands=commands,
        price=reader.price(),
        request=(reader.one("request") or ("",))[0],
        inputs=tuple(reader.inputs()),
        others=reader.rest(),
    )


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a provider says while it is at it (kind 7000)."""

    request_id: str
    customer: str
    status: FeedbackStatus
    info: str = ""
    content: str = ""
    price: Price | None = None
    others: Tags = ()

    def draft(self) -> Draft:
        tags: list[tuple[str, ...]] = [_shortened("status", self.status, self.info)]
        if self.price is not None:
            tags.append(self.price.tag())
        tags += [("e", self.request_id), ("p", self.customer)]
        return Draft(FEEDBACK_KIND, self.content, (*tags, *self.others))


def read_feedback(event: NostrEvent | Draft) -> Feedback:
    if event.kind != FEEDBACK_KIND:
        raise BadJobEvent(what="kind", why=f"feedback has the kind {FEEDBACK_KIND}")
    reader = _Reader(event.tags)
    status = reader.one("status")
    if status is None:
        raise BadJobEvent(what="status", why="it is missing")
    request_id, customer = reader.parties()
    return Feedback(
        request_id,
        customer,
        _member(FeedbackStatus, status[0]),
        status[1] if len(status) > 1 else "",
        event.content,
        reader.price(),
        reader.rest(),
    )


# --- what only two keys read ------------------------------------------------------------------------

_PUBLIC = frozenset({"e", "p", "status", "amount", "bid", "relays", "expiration", "t"})
_CONTENT = "content"  # stands for the content among the tags that are hidden


def privately(draft: Draft, conversation: bytes, nonce: bytes) -> Draft:
    """The same, with all but what relays need in a private text (NIP-90, NIP-44)."""
    hidden = [list(tag) for tag in draft.tags if tag[0] not in _PUBLIC]
    shown = tuple(_without_words(tag) for tag in draft.tags if tag[0] in _PUBLIC)
    words = [list(tag) for tag in draft.tags if tag[0] == "status"]
    text = compact([*hidden, *words, [_CONTENT, draft.content]])
    return Draft(draft.kind, nip44.encrypt(conversation, text, nonce), (*shown, ("encrypted",)))


def opened(event: NostrEvent | Draft, conversation: bytes) -> Draft:
    """What somebody said privately, as if they had said it openly."""
    try:
        value = json.loads(nip44.decrypt(conversation, event.content))
    except (ValueError, RecursionError):
        raise BadJobEvent(what="content", why="it is no list of tags") from None
    if not isinstance(value, list) or not all(_is_tag(tag) for tag in value):
        raise BadJobEvent(what="content", why="it is no list of tags")
    content = "".join(tag[1] for tag in value if tag[0] == _CONTENT and len(tag) > 1)
    hidden = tuple(tuple(tag) for tag in value if tag[0] != _CONTENT)
    if any(tag[0] in _PUBLIC - {"status"} for tag in hidden):
        raise BadJobEvent(what="content", why="it has a tag that must be public")
    said = {tag[0] for tag in hidden}
    shown = tuple(tag for tag in event.tags if tag and tag[0] != "encrypted" and tag[0] not in said)
    return Draft(event.kind, content, (*shown, *hidden))


def is_private(event: NostrEvent | Draft) -> bool:
    return any(tag and tag[0] == "encrypted" for tag in event.tags)


def _without_words(tag: tuple[str, ...]) -> tuple[str, ...]:
    return tag[:2] if tag[0] == "status" else tag


def _is_tag(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


# --- reading ----------------------------------------------------------------------------------------


class _Reader:
    """The tags of an event, each taken once; what nobody took is kept as it is."""

    def __init__(self, tags: Tags) -> None:
        self._left = [tag for tag in tags if tag]

    def take(self, wanted: Callable[[tuple[str, ...]], bool]) -> list[tuple[str, ...]]:
        found = [tag for tag in self._left if wanted(tag)]
        self._left = [tag for tag in self._left if not wanted(tag)]
        return found

    def named(self, name: str, least: int = 1) -> list[tuple[str, ...]]:
        return [tag[1:] for tag in self.take(lambda tag: tag[0] == name and len(tag) > least)]

    def one(self, name: str, least: int = 1) -> tuple[str, ...] | None:
        found = self.named(name, least)
        if len(found) > 1:
            raise BadJobEvent(what=name, why="it is there twice")
        return found[0] if found else None

    def firsts(self, name: str) -> list[str]:
        """The values of tags that have nothing else; one with more, such as a relay, is kept whole."""
        return [tag[1] for tag in self.take(lambda tag: tag[0] == name and len(tag) == 2)]

    def fields(self, name: str, forms: Mapping[str, Form]) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for _, field_, text in self.take(lambda tag: tag[0] == name and len(tag) == 3 and tag[1] in forms):
            if field_ in found:
                raise BadJobEvent(what=field_, why="it is there twice")
            found[field_] = forms[field_].read(text, field_)
        return found

    def inputs(self) -> list[Input]:
        return [Input(*tag[1:]) for tag in self.take(lambda tag: tag[0] == "i" and 2 <= len(tag) <= 5)]

    def parties(self) -> tuple[str, str]:
        """The request and the key that asked; both may have a relay behind them."""
        events, keys = self.named("e"), self.named("p")
        if len(events) != 1 or len(keys) != 1:
            raise BadJobEvent(what="e and p", why="it must name one request and one key")
        return _hex(events[0][0], "e"), _hex(keys[0][0], "p")

    def price(self) -> Price | None:
        tag = self.one("amount")
        if tag is None:
            return None
        if len(tag) > 2 and tag[1] == "bolt11":
            return Price(whole(tag[0], "amount") * MSAT, tag[2])
        return Price(whole(tag[0], "amount"), tag[1] if len(tag) > 1 else "")

    def rest(self) -> Tags:
        return tuple(self._left)


def _forms(table: Mapping[int, Mapping[str, Form]], kind: int) -> Mapping[str, Form]:
    if kind not in table:
        raise BadJobEvent(what="kind", why=f"it must be for a job of {', '.join(map(str, table))}")
    return table[kind]


def _written(
    fields: Mapping[str, Value], forms: Mapping[str, Form], without: set[str | None] | None = None
) -> Iterator[tuple[str, str]]:
    if unknown := fields.keys() - forms.keys():
        raise BadJobEvent(what=min(unknown), why="such a job has no such field")
    for name, form in forms.items():
        if name in fields and name not in (without or ()) and fields[name] != ():
            yield name, form.write(fields[name])


def _titled(text: str, fields: Mapping[str, Value]) -> dict[str, Value]:
    """Title and body of an issue, which travel as one text; where no title is named, it is what precedes a colon."""
    if fields.get("title"):
        return {"body": text.removeprefix(f"{fields['title']}: ")}
    if "title" in fields:
        return {"body": text}
    title, colon, body = text.partition(": ")
    return {"title": title, "body": body} if colon and "\n" not in title else {"body": text}


def _first(inputs: list[Input], type_: str) -> Input | None:
    return next((item for item in inputs if item.type == type_), None)


def _command(tag: tuple[str, ...]) -> CommandClaim:
    if len(tag) != 6:
        raise BadJobEvent(what="command", why="it must have a command, an exit code and two hashes")
    return CommandClaim(tag[2], whole(tag[3], "command", -(2**31), 2**31 - 1), tag[4], tag[5])


def _hex(text: str, what: str) -> str:
    if len(text) != _HEX_CHARS or not set(text) <= set("0123456789abcdef"):
        raise BadJobEvent(what=what, why="it must be 64 lower-case hex digits")
    return text


def _member(kind: type[E], text: str) -> E:
    if text not in list(kind):
        raise BadJobEvent(what="status", why=f"it must be one of {', '.join(kind)}")
    return kind(text)


def _shortened(*items: str) -> tuple[str, ...]:
    """A tag without the empty items at its end; its first value stays."""
    while len(items) > 2 and not items[-1]:
        items = items[:-1]
    return items
