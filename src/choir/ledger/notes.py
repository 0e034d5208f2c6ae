"""Signed notes and checkpoints: C2SP signed-note and tlog-checkpoint, with Ed25519 (type 0x01).

A note is text, a blank line, and one line per signature. A checkpoint is a note that says how many
entries a journal has and what their Merkle root is; ours also say, in an extension line, how many
account acts there are and how their hash chain ends. A key rotation is a note signed by the old and
the new key of a node.

Guarantees: text comes out of a note only together with the trusted keys that signed it. Signatures by
unknown keys are ignored, as the standard asks; one by a known key that does not verify condemns the
note. Base64 has one form only, so a note cannot be changed without a check noticing. Sizes are bounded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from choir.foundation.errors import Broken, Invalid, TooLarge
from choir.foundation.signing import BadSignature, Ed25519Signer, verify_ed25519

NOTE_BYTES_MAX = 256 * 1024  # room for sixteen post-quantum signatures, which the standard wants accepted
SIGNATURES_MAX = 100
SIZE_MAX = 2**63 - 1

_ED25519 = b"\x01"  # signature type of the standard
_SIGNATURE_START = "— "  # em dash and space
_ROTATION = "choir-key-rotation/1"
_ACTS = "acts "  # begins the extension line of our checkpoints
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class NoteMalformed(Invalid):
    """Bytes that are not a signed note."""

    code = "ledger.note.malformed"
    sentence = "The signed note is malformed: {why}."


class NoteTooLarge(TooLarge):
    """A note beyond the limits on size or signatures."""

    code = "ledger.note.too_large"


class NoteUnsigned(Broken):
    """A note without a signature by any of the trusted keys."""

    code = "ledger.note.unsigned"
    sentence = "None of the trusted keys signed this note; it is signed by {signers}."


class NoteForged(Broken):
    """A note with a signature in the name of a trusted key that this key did not make."""

    code = "ledger.note.forged"
    sentence = "The signature by {key} does not match the note's text."


class VerifierKeyMalformed(Invalid):
    """Text that is not the public key of a note signer."""

    code = "ledger.note.key_malformed"
    sentence = "'{text}' is not a verifier key: {why}."
    hint = "A verifier key looks like name+0a1b2c3d+AbCd…=, on one line."


class CheckpointMalformed(Invalid):
    """A note whose text is not a checkpoint."""

    code = "ledger.note.checkpoint_malformed"
    sentence = "The note is not a checkpoint: {why}."


class RotationMalformed(Invalid):
    """A note whose text is not a key rotation."""

    code = "ledger.note.rotation_malformed"
    sentence = "The note is not a key rotation: {why}."


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public key of a note signer, under the name it signs with."""

    name: str
    public: bytes  # 32 bytes, RFC 8032

    def __post_init__(self) -> None:
        if not _is_key_name(self.name):
            raise self._malformed(self.name, "its name must be non-empty, without spaces or plus signs")
        if len(self.public) != 32:
            raise self._malformed(self.name, "an Ed25519 key has 32 bytes")

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """From the form `name+hash+base64`."""
        parts = text.split("+", 2)
        if len(parts) != 3:
            raise cls._malformed(text, "it must have three parts joined by plus signs")
        encoded = _decode_base64(parts[2])
        if encoded is None or encoded[:1] != _ED25519 or len(encoded) != 33:
            raise cls._malformed(text, "its last part must be base64 of the byte 1 and an Ed25519 key")
        key = cls(parts[0], encoded[1:])
        if parts[1] != key.hash.hex():
            raise cls._malformed(text, f"its name and key have the hash {key.hash.hex()}, not {parts[1][:16]}")
        return key

    @property
    def hash(self) -> bytes:
        """Four bytes that tell keys of one name apart; not proof of anything."""
        return hashlib.sha256(self.name.encode() + b"\n" + _ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.hash.hex()}+{_encode_base64(_ED25519 + self.public)}"

    @staticmethod
    def _malformed(text: str, why: str) -> VerifierKeyMalformed:
        return VerifierKeyMalformed(text=text[:120], why=why)


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """A note's text and the trusted keys that signed it, at least one."""

    text: str
    signers: tuple[VerifierKey, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How many entries a journal has, and the Merkle root over them.

    The checkpoints of a node always speak of account acts too; those of other logs do not.
    """

    origin: str  # which journal
    size: int
    root: bytes  # 32 bytes, RFC 6962
    acts: int | None = None  # how many account acts there are
    acts_hash: bytes = b""  # the hash of the last one

    def __post_init__(self) -> None:
        if not _is_line(self.origin):
            raise CheckpointMalformed(why="the origin must be one non-empty line")
        if not 0 <= self.size <= SIZE_MAX or len(self.root) != 32:
            raise CheckpointMalformed(why="the size must fit 63 bits and the root must have 32 bytes")
        has_acts = self.acts is not None and 0 <= self.acts <= SIZE_MAX and len(self.acts_hash) == 32
        if not has_acts and (self.acts is not None or self.acts_hash):
            raise CheckpointMalformed(why="the acts must be a number that fits 63 bits and a hash of 32 bytes")

    def text(self) -> str:
        """The text to sign."""
        acts = "" if self.acts is None else f"{_ACTS}{self.acts} {_encode_base64(self.acts_hash)}\n"
        return f"{self.origin}\n{self.size}\n{_encode_base64(self.root)}\n{acts}"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """From a note's text. Extension lines that are not ours are read over."""
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop() or not all(lines):
            raise CheckpointMalformed(why="it must have at least three lines, none of them empty")
        size, root = _parse_size(lines[1]), _decode_base64(lines[2])
        if size is None:
            raise CheckpointMalformed(why="its second line must be a number without leading zeros")
        if root is None or len(root) != 32:
            raise CheckpointMalformed(why="its third line must be base64 of 32 bytes")
        extensions = [line for line in lines[3:] if line.startswith(_ACTS)]
        if not extensions:
            return cls(lines[0], size, root)
        count, _, encoded = extensions[0].removeprefix(_ACTS).partition(" ")
        acts, acts_hash = _parse_size(count), _decode_base64(encoded)
        if len(extensions) > 1 or acts is None or acts_hash is None or len(acts_hash) != 32:
            raise CheckpointMalformed(why="its acts must be on one line: 'acts', a number, base64 of 32 bytes")
        return cls(lines[0], size, root, acts, acts_hash)


@dataclass(frozen=True, slots=True)
class KeyRotation:
    """From these entries on, a journal is signed with another key. Both keys sign this."""

    origin: str
    old: VerifierKey
    new: VerifierKey
    size: int
    root: bytes

    def text(self) -> str:
        """The text to sign."""
        tree = Checkpoint(self.origin, self.size, self.root).text().removeprefix(self.origin)
        return f"{_ROTATION}\n{self.origin}\n{self.old}\n{self.new}{tree}"

    @classmethod
    def parse(cls, text: str) -> KeyRotation:
        """From a note's text; who signed it is for the caller to look at."""
        lines = text.split("\n")
        if len(lines) != 7 or lines[0] != _ROTATION:
            raise RotationMalformed(why=f"it must have six lines, the first being {_ROTATION}")
        tree = Checkpoint.parse("\n".join([lines[1], *lines[4:]]))
        return cls(tree.origin, VerifierKey.parse(lines[2]), VerifierKey.parse(lines[3]), tree.size, tree.root)


def sign_note(text: str, name: str, signers: Sequence[Ed25519Signer]) -> str:
    """The note that these signers sign under this name."""
    if not signers or len(signers) > SIGNATURES_MAX:
        raise NoteMalformed(why=f"a note needs between one and {SIGNATURES_MAX} signers")
    message = _checked(text).encode()
    if not text.endswith("\n"):
        raise NoteMalformed(why="its text must end with a newline")
    lines = []
    for signer in signers:
        key = VerifierKey(name, signer.public)
        lines.append(f"{_SIGNATURE_START}{name} {_encode_base64(key.hash + signer.sign(message))}\n")
    return _checked(f"{text}\n{''.join(lines)}")


def open_note(note: str | bytes, keys: Iterable[VerifierKey]) -> OpenedNote:
    """The text of a note that at least one of these keys signed."""
    text, signatures = _split_note(_checked(note))
    known = {(key.name, key.hash): key for key in keys}
    message = text.encode()
    signers: dict[VerifierKey, None] = {}
    for name, blob in signatures:
        key = known.get((name, blob[:4]))
        if key is not None:
            _verify(key, message, blob[4:])
            signers[key] = None
    if not signers:
        names = sorted({f"{name}+{blob[:4].hex()}" for name, blob in signatures})
        raise NoteUnsigned(signers=", ".join(names)[:200])
    return OpenedNote(text, tuple(signers))


def _verify(key: VerifierKey, message: bytes, signature: bytes) -> None:
    try:
        verify_ed25519(key.public, message, signature)
    except BadSignature:
        raise NoteForged(key=f"{key.name}+{key.hash.hex()}") from None


def _checked(note: str | bytes) -> str:
    """A note or text within bounds, as UTF-8 without control characters."""
    try:
        data = note.encode() if isinstance(note, str) else note
        text = data.decode()
    except UnicodeError:
        raise NoteMalformed(why="it is not UTF-8") from None
    if len(data) > NOTE_BYTES_MAX:
        raise NoteTooLarge(what="the signed note", size=len(data), limit=NOTE_BYTES_MAX)
    if any(char < " " and char != "\n" for char in text):
        raise NoteMalformed(why="it has a control character")
    return text


def _split_note(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """The text, and each signature's key name and bytes. The last blank line divides them."""
    text, blank, rest = note.rpartition("\n\n")
    if not blank:
        raise NoteMalformed(why="no blank line divides its text from its signatures")
    if not rest.endswith("\n"):
        raise NoteMalformed(why="it must have signatures and end with a newline")
    lines = rest[:-1].split("\n")
    if len(lines) > SIGNATURES_MAX:
        raise NoteTooLarge(what="the number of signatures", size=len(lines), limit=SIGNATURES_MAX)
    return text + "\n", [_parse_signature(line) for line in lines]


def _parse_signature(line: str) -> tuple[str, bytes]:
    name, _, encoded = line.removeprefix(_SIGNATURE_START).partition(" ")
    if not line.startswith(_SIGNATURE_START) or not _is_key_name(name):
        raise NoteMalformed(why="a signature line must be an em dash, a key name and base64, with spaces between")
    blob = _decode_base64(encoded)
    if blob is None or len(blob) < 5:
        raise NoteMalformed(why=f"the signature of {name[:60]} is not base64 of a key hash and a signature")
    return name, blob


def _is_key_name(name: str) -> bool:
    return _is_line(name) and "+" not in name and not any(char.isspace() for char in name)


def _is_line(text: str) -> bool:
    """Whether this is one non-empty line that UTF-8 can hold."""
    return bool(text) and not any(char < " " or "\ud800" <= char <= "\udfff" for char in text)


def _parse_size(text: str) -> int | None:
    return int(text) if _SIZE.fullmatch(text) and int(text) <= SIZE_MAX else None


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode_base64(text: str) -> bytes | None:
    """The bytes behind base64, or nothing where it is not in the one form that encoding gives."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _encode_base64(data) == text else None
