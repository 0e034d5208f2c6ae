"""Hidden checks: commands and files that only the node sees before the delivery.

The buyer commits to them by a salted hash when the job opens. They cannot be changed afterwards, and the provider
cannot guess them from the hash. They run after the delivery, several times each.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts.fields import Reader, read_bytes, read_value
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_bytes, canonical_hash
from choir.foundation.errors import Invalid
from choir.sandbox.files import safe_path

_SALT_BYTES_MIN = 16
_SALT_CHARS_MAX = 200
_CONTENT_CHARS_MAX = 2_000_000
_HASH_CHARS = 64


@dataclass(frozen=True, slots=True)
class HiddenCheck:
    """A command that must end with code 0 in the patched tree. A pytest command must also report its tests."""

    command: str
    output_sha256: str = ""  # of all it must write to stdout; the provider does not know it, so it cannot fake the end

    @classmethod
    def read(cls, reader: Reader, policy: VerificationPolicy) -> HiddenCheck:
        command = reader.text("command", policy.command_chars_max, 1)
        output = reader.text("output_sha256", _HASH_CHARS, 0, "")
        if output and (len(output) != _HASH_CHARS or not set(output) <= set("0123456789abcdef")):
            raise reader.bad("output_sha256", "it must be 64 lower-case hex digits")
        return cls(command, output)


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """A file put into the tree for the hidden checks."""

    path: str
    content: bytes

    @classmethod
    def read(cls, reader: Reader) -> HiddenFile:
        path = reader.text("path", 1_000, 1)
        text = reader.text("content", _CONTENT_CHARS_MAX)  # base64, so that any bytes can be committed to
        try:
            return cls(safe_path(path), base64.b64decode(text, validate=True))
        except binascii.Error:
            raise reader.bad("content", "it must be base64") from None
        except Invalid as error:
            raise reader.bad("path", str(error)) from None


@dataclass(frozen=True, slots=True)
class HiddenChecks:
    """All of them, with the salt that makes the commitment opaque."""

    salt: str  # hex of at least 16 random bytes
    checks: tuple[HiddenCheck, ...]
    files: tuple[HiddenFile, ...] = ()

    @property
    def commitment(self) -> ObjectHash:
        """What the request carries."""
        return canonical_hash(self.to_json())

    def to_json(self) -> dict[str, Any]:
        return {
            "salt": self.salt,
            "checks": [{"command": item.command, "output_sha256": item.output_sha256} for item in self.checks],
            "files": [{"path": item.path, "content": base64.b64encode(item.content).decode()} for item in self.files],
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> HiddenChecks:
        """From what the buyer reveals to the node."""
        return read_bytes(data, _CONTENT_CHARS_MAX, "The hidden checks", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> HiddenChecks:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> HiddenChecks:
        salt = reader.text("salt", _SALT_CHARS_MAX, _SALT_BYTES_MIN * 2)
        if not set(salt) <= set("0123456789abcdef"):
            raise reader.bad("salt", "it must be the hex of at least 16 random bytes")
        most = policy.list_items_max
        checks = reader.records("checks", most, lambda inner: HiddenCheck.read(inner, policy))
        if not checks:
            raise reader.bad("checks", "there must be at least one")
        return cls(salt, checks, reader.records("files", most, HiddenFile.read, ()))
