"""Reading an export line by line, with everything about its form checked on the way.

Guarantees: constant memory; a line that is not exactly canonical, out of order, of the wrong shape,
too long, or missing is reported with its number; what is yielded is typed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar
from uuid import UUID

from choir.foundation.canonical import canonical_bytes
from choir.foundation.errors import Broken, ChoirError
from choir.foundation.signing import BadSignature, verify_ed25519
from choir.ledger.exporter import FORMAT, TRAILER_DOMAIN
from choir.ledger.journal_check import Act
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, open_note

T = TypeVar("T")

_LINE_BYTES_MAX = 16 * 1024 * 1024
_ORDER = {"header": 0, "rotation": 1, "account": 2, "entry": 2, "trailer": 3}
_FIELDS: dict[str, dict[str, type]] = {
    "header": {"format": str, "key": str, "origin": str, "type": str},
    "rotation": {"note": str, "type": str},
    "account": {
        "account": str, "act": str, "after": int, "at_us": int, "hash": str, "n": int, "prev": str, "reason": str,
        "source": str, "type": str,
    },
    "entry": {"at_us": int, "content": dict, "hash": str, "id": str, "prev": str, "seq": int, "type": str},
    "trailer": {
        "account_head": str, "accounts": int, "bytes": int, "checkpoint": str, "entries": int, "sha256": str,
        "signature": str, "type": str,
    },
}  # fmt: skip


class BadExport(Broken):
    """The file is not an export, or not whole."""

    code = "ledger.export.bad"
    sentence = "Line {line} of the export: {why}."


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number, its type, its fields and, for entries, the content's own bytes."""

    number: int
    type: str
    value: dict[str, Any]

    def fail(self, why: str) -> BadExport:
        return BadExport(line=self.number, why=why)


@dataclass(slots=True)
class ExportKeys:
    """The keys that an export was signed with, first to current."""

    origin: str
    keys: list[VerifierKey]
    rotations: list[KeyRotation]
    notes: list[str]

    @property
    def current(self) -> VerifierKey:
        return self.keys[-1]


@dataclass(slots=True)
class ExportReader:
    """Yields the lines of a file in order and checks the trailer against all bytes before it."""

    file: BinaryIO

    def lines(self) -> Iterator[Line]:
        digest = hashlib.sha256()
        size = number = stage = 0
        trailer: Line | None = None
        while raw := self.file.readline(_LINE_BYTES_MAX + 1):
            number += 1
            if trailer is not None:
                raise BadExport(line=number, why="nothing may follow the trailer")
            line = _parse(number, raw)
            if number == 1 and line.type != "header":
                raise line.fail("an export begins with a header")
            if _ORDER[line.type] < stage or (line.type == "header" and number > 1):
                raise line.fail(f"a line of type {line.type} is not allowed here")
            stage = _ORDER[line.type]
            if line.type == "trailer":
                trailer = line
                if line.value["bytes"] != size or line.value["sha256"] != digest.hexdigest():
                    raise line.fail("its size or hash is not that of the lines before it")
            digest.update(raw)
            size += len(raw)
            yield line
        if trailer is None:
            raise BadExport(line=number + 1, why="the trailer is missing: the file was cut off")


def header_keys(line: Line) -> ExportKeys:
    """The first key of an export."""
    if line.value["format"] != FORMAT:
        raise line.fail(f"its format is {line.value['format'][:40]!r}, not {FORMAT!r}")
    key = _told(line, lambda: VerifierKey.parse(line.value["key"]))
    return ExportKeys(line.value["origin"], [key], [], [])


def add_rotation(keys: ExportKeys, line: Line) -> None:
    """Follow a rotation to the next key; it must be signed by both."""
    note = line.value["note"]

    def follow() -> KeyRotation:
        opened = open_note(note, [keys.current])
        rotation = KeyRotation.parse(opened.text)
        open_note(note, [rotation.new])
        return rotation

    rotation = _told(line, follow)
    if rotation.origin != keys.origin or rotation.old != keys.current:
        raise line.fail("the rotation is not one of the key before it")
    keys.keys.append(rotation.new)
    keys.rotations.append(rotation)
    keys.notes.append(note)


def trailer_checkpoint(keys: ExportKeys, line: Line) -> Checkpoint:
    """The trailer's checkpoint, with both signatures verified."""
    checkpoint = _told(line, lambda: Checkpoint.parse(open_note(line.value["checkpoint"], [keys.current]).text))
    if checkpoint.origin != keys.origin:
        raise line.fail("its checkpoint is of another ledger")
    unsigned = {name: value for name, value in line.value.items() if name != "signature"}
    try:
        signature = base64.b64decode(line.value["signature"], validate=True)
        if base64.b64encode(signature).decode() != line.value["signature"]:  # base64 has spare bits at its end
            raise line.fail("its signature is not written in the one form it has")
        verify_ed25519(keys.current.public, TRAILER_DOMAIN + canonical_bytes(unsigned), signature)
    except (binascii.Error, ValueError, BadSignature):
        raise line.fail("its signature does not match") from None
    return checkpoint


def act_of(line: Line) -> Act:
    value = line.value
    return Act(
        value["n"],
        value["account"],
        value["act"],
        value["after"],
        value["at_us"],
        value["reason"],
        value["source"],
        hash_of(line, "hash"),
    )


def content_of(line: Line) -> str:
    return canonical_bytes(line.value["content"]).decode()


def hash_of(line: Line, name: str) -> bytes:
    """A hash field as bytes."""
    text = line.value[name]
    if len(text) != 64 or text.strip("0123456789abcdef"):
        raise line.fail(f"its {name} is not 64 lower-case hex digits")
    return bytes.fromhex(text)


def id_of(line: Line) -> UUID:
    try:
        id_ = UUID(line.value["id"])
    except ValueError:
        raise line.fail("its id is not a UUID") from None
    if str(id_) != line.value["id"]:
        raise line.fail("its id is not written as a UUID is")
    return id_


def _parse(number: int, raw: bytes) -> Line:
    if not raw.endswith(b"\n"):
        raise BadExport(line=number, why="it is cut off or longer than any line may be")
    try:
        value = json.loads(raw)
        exact = isinstance(value, dict) and canonical_bytes(value) == raw[:-1]
    except (ValueError, RecursionError, ChoirError):
        exact = False
    if not exact:
        raise BadExport(line=number, why="it is not canonical JSON")
    fields = _FIELDS.get(str(value.get("type")))
    if fields is None or fields.keys() != value.keys():
        raise BadExport(line=number, why="its fields are not those of any line type")
    for name, type_ in fields.items():
        if type(value[name]) is not type_ or (type_ is int and value[name] < 0):
            raise BadExport(line=number, why=f"its field {name} is not a {type_.__name__} that is allowed there")
    return Line(number, value["type"], value)


def _told(line: Line, work: Callable[[], T]) -> T:
    """Do the work; what goes wrong is a problem of this line."""
    try:
        return work()
    except ChoirError as error:
        raise line.fail(str(error).rstrip(".")) from None
