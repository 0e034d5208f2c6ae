"""The lines of `rlog/1`: how each is written, and the one way in which it can be read.

    ---
    format: rlog/1
    id: job_…
    repo_sha: 40 or 64 hex digits, or - for a job without a repository
    provider_pubkey: npub1…
    job_type: PatchGen
    started_at: 2026-11-15T10:00:00.000000Z
    ---

    @start id=job_… ts=…
    u: what was asked ts=…
    th: what was thought sig=- ts=…
    t:Bash id=call_1 npm test → [exit 0] sha256=… ts=…
    a: what was answered ts=…
    @end summary="…" tokens_in=0 tokens_out=0 lines=6 omitted=0 ts=…

Lines end with LF, text is UTF-8. In a text a backslash is written `\\\\`, LF `\\n`, CR `\\r`, TAB `\\t`, and each sign
of `_ODD` as `\\u{hex}`: controls, signs that are invisible or turn the direction of writing, and bytes that are not
UTF-8 (those as U+DC80 to U+DCFF). A tool's argument also hides its arrow (`\\u{2192}`), a summary its quotes (`\\"`).

Others write less: a time on `@start` alone, in whole seconds (`…:00Z`), tools without `sha256`, thoughts without `sig`,
an `@end` without `lines` and `omitted`. That is read too. Where `@end` has `lines`, all the rest must be there.

Guarantees: writing what was read gives the same bytes (but for the zeros of whole seconds), reading what was written
the same line; nothing else has two spellings. The hash of a tool's line is that of its result as stated, unescaped.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from choir.bazaar.jobs.model import JobType
from choir.foundation.clock import format_time, parse_time
from choir.foundation.errors import Invalid

FORMAT = "rlog/1"
NO_REPOSITORY = "-"
TYPE_NAMES = {
    JobType.PATCH_GEN: "PatchGen",
    JobType.CODE_REVIEW: "CodeReview",
    JobType.SANDBOX_RUN: "SandboxRun",
    JobType.TEXT_GEN: "TextGen",
    JobType.REPO_INDEX: "RepoIndex",
}
HEADER_FIELDS = ("format", "id", "repo_sha", "provider_pubkey", "job_type", "started_at")

_ODD = "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\udc80-\udcff"
_PLAIN = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BACK = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", '"': '"'}
_TO_ESCAPE = re.compile(f"[\\\\{_ODD}]")
_LOST = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # halves of characters, which no bytes stand for
_ESCAPED = re.compile(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))", re.DOTALL)
_NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
_ID = r"[A-Za-z0-9_.-]{1,100}"
_TS = r"(?: ts=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z))"
_WHOLE_SECOND = re.compile(r"( ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z\Z")
_NUMBER = r"(0|[1-9]\d{0,14})"

_START = re.compile(rf"@start id=({_ID}){_TS}")
_SAID = re.compile(rf"([ua]): (.*?){_TS}?")
_THOUGHT = re.compile(rf"th: (.*?)(?: sig=([A-Za-z0-9+/=_.-]{{1,10000}}))?{_TS}?")
_TOOL = re.compile(rf"t:({_NAME}) id=({_ID}) ([^→]*) → \[(.*)\](?: sha256=([0-9a-f]{{64}}))?{_TS}?")
_END = re.compile(
    rf'@end summary="(.*)" tokens_in={_NUMBER} tokens_out={_NUMBER}(?: lines={_NUMBER})?(?: omitted={_NUMBER})?{_TS}?'
)


class BadLine(Invalid):
    """A line that is none of the format's, or spelled in a way of its own."""

    code = "trajectory.bad_line"
    sentence = "Line {line} of the trajectory is not valid: {why}."


class Voice(StrEnum):
    """Who speaks."""

    USER = "u"
    ANSWER = "a"


@dataclass(frozen=True, slots=True)
class Start:
    """The first line, the one that always states its time."""

    id: str
    at_us: int

    @property
    def is_full(self) -> bool:
        return True

    def write(self) -> str:
        return f"@start id={self.id}{_ts(self.at_us)}"


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said."""

    voice: Voice
    text: str
    at_us: int | None

    @property
    def is_full(self) -> bool:
        return self.at_us is not None

    def write(self) -> str:
        return f"{self.voice.value}: {escape(self.text)}{_ts(self.at_us)}"


@dataclass(frozen=True, slots=True)
class Thought:
    """What the agent thought; some models sign that."""

    text: str
    at_us: int | None
    signature: str | None = ""  # None: not even that there is none was stated

    @property
    def is_full(self) -> bool:
        return self.at_us is not None and self.signature is not None

    def write(self) -> str:
        signed = "" if self.signature is None else f" sig={self.signature or '-'}"
        return f"th: {escape(self.text)}{signed}{_ts(self.at_us)}"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that was used, and its result as stated."""

    tool: str
    id: str
    argument: str
    result: str
    at_us: int | None
    sha256: str | None = ""  # as it stands in the line; computed if it is not given; None: none was stated

    @property
    def is_full(self) -> bool:
        return self.at_us is not None and self.sha256 is not None

    def write(self) -> str:
        argument = escape(self.argument).replace("→", "\\u{2192}")
        digest = "" if self.sha256 is None else f" sha256={self.sha256 or text_digest(self.result)}"
        return f"t:{self.tool} id={self.id} {argument} → [{escape(self.result)}]{digest}{_ts(self.at_us)}"


@dataclass(frozen=True, slots=True)
class End:
    """The last line: what came of it, and how many lines there are from @start to @end."""

    summary: str
    at_us: int | None
    lines: int | None
    tokens_in: int = 0
    tokens_out: int = 0
    omitted: int | None = 0  # lines that the writer left out because of its limits

    @property
    def is_full(self) -> bool:
        return self.at_us is not None and self.lines is not None and self.omitted is not None

    def write(self) -> str:
        summary = escape(self.summary).replace('"', '\\"')
        lines = "" if self.lines is None else f" lines={self.lines}"
        omitted = "" if self.omitted is None else f" omitted={self.omitted}"
        tokens = f"tokens_in={self.tokens_in} tokens_out={self.tokens_out}"
        return f'@end summary="{summary}" {tokens}{lines}{omitted}{_ts(self.at_us)}'


Line = Start | Said | Thought | ToolUse | End


@dataclass(frozen=True, slots=True)
class Header:
    """What a trajectory says about itself."""

    id: str  # of the job
    repo_sha: str
    provider_pubkey: str
    job_type: str
    started_us: int

    JOB_TYPES: ClassVar[frozenset[str]] = frozenset(TYPE_NAMES.values())

    def write(self) -> str:
        values = (
            FORMAT,
            self.id,
            self.repo_sha,
            self.provider_pubkey,
            self.job_type,
            format_time(self.started_us),
        )
        fields = "".join(f"{name}: {value}\n" for name, value in zip(HEADER_FIELDS, values, strict=True))
        return f"---\n{fields}---\n\n"


def escape(text: str) -> str:
    """A text in one line."""
    return _TO_ESCAPE.sub(lambda found: _PLAIN.get(found[0]) or f"\\u{{{ord(found[0]):x}}}", whole(text))


def unescape(text: str) -> str:
    """The text behind one line."""
    return _ESCAPED.sub(_unescape_one, text)


def whole(text: str) -> str:
    """Text in which every sign has a meaning: halves of characters become the sign for a lost one."""
    return _LOST.sub("\ufffd", text)


def text_digest(text: str) -> str:
    """The hash of a result as stated; of bytes that are no UTF-8 it is the hash of those bytes."""
    return hashlib.sha256(whole(text).encode("utf-8", "surrogateescape")).hexdigest()


def read_line(text: str, number: int) -> Line:
    """A line of a trajectory; another spelling of the same is refused."""
    text = _WHOLE_SECOND.sub(r"\1.000000Z", text)
    try:
        line = _read(text)
    except (ValueError, OverflowError, Invalid):
        line = None
    if line is None:
        raise BadLine(line=number, why="it has none of the forms that the format knows")
    if line.write() != text:
        raise BadLine(line=number, why="it is not written in the one way that the format has for it")
    return line


def _read(text: str) -> Line | None:
    if found := _SAID.fullmatch(text):
        return Said(Voice(found[1]), unescape(found[2]), _time(found[3]))
    if found := _TOOL.fullmatch(text):
        return ToolUse(
            tool=found[1],
            id=found[2],
            argument=unescape(found[3]),
            result=unescape(found[4]),
            at_us=_time(found[6]),
            sha256=found[5],
        )
    if found := _THOUGHT.fullmatch(text):
        return Thought(unescape(found[1]), _time(found[3]), "" if found[2] == "-" else found[2])
    if found := _START.fullmatch(text):
        return Start(found[1], parse_time(found[2]))
    if found := _END.fullmatch(text):
        tokens_in, tokens_out, lines, omitted = (_number(found[place]) for place in (2, 3, 4, 5))
        return End(unescape(found[1]), _time(found[6]), lines, tokens_in or 0, tokens_out or 0, omitted)
    return None


def _time(text: str | None) -> int | None:
    return None if text is None else parse_time(text)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _ts(at_us: int | None) -> str:
    return "" if at_us is None else f" ts={format_time(at_us)}"


def _unescape_one(found: re.Match[str]) -> str:
    if found[1] is not None:
        return chr(int(found[1], 16))
    return _BACK[found[2]] if found[2] in _BACK else found[0]
