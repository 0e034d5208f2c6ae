"""The file: a ZIP with a manifest, atoms and objects by their hash. Writing it and reading it strictly.

Guarantees: the same content gives the same bytes but for the time in the manifest; a file that is read has exactly the
members that its manifest lists, each hashes to its name, and nothing is unpacked beyond the limit, whatever the file
says about its sizes.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_bytes, parse_canonical, parse_object_hash
from choir.foundation.errors import Broken, ChoirError, TooLarge

FORMAT = "choir-article/1"
_MANIFEST, _SIGNATURE = "manifest.json", "manifest.sig"
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that ZIP can say: a file's time says nothing here
_MEMBERS_MAX = 50_000
_MANIFEST_BYTES_MAX = 20_000_000


class BadBundle(Broken):
    code = "commons.bad_bundle"
    sentence = "The file is not a valid article bundle: {why}."
    hint = "It was changed or cut off, or is another file; export it again and compare."


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is in a file."""

    manifest: dict[str, Any]
    signature: bytes  # the node's, over the manifest's hash
    atoms: dict[ObjectHash, bytes]
    objects: dict[ObjectHash, bytes]


def write(
    manifest: Mapping[str, Any],
    signature: bytes,
    atoms: Mapping[ObjectHash, bytes],
    objects: Mapping[ObjectHash, bytes],
) -> bytes:
    """The bytes of a bundle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        _add(file, _MANIFEST, canonical_bytes(dict(manifest)))
        _add(file, _SIGNATURE, signature)
        for folder, items in (("atoms", atoms), ("objects", objects)):
            for name in sorted(items):
                _add(file, f"{folder}/{name.removeprefix('sha256:')}", items[name])
    return out.getvalue()


def _add(file: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    file.writestr(info, data)


def read(data: bytes, bytes_max: int) -> Bundle:
    """A bundle from untrusted bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return _read(file, bytes_max)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, OSError, ValueError) as error:
        raise BadBundle(why=str(error)[:100] or "it is not a ZIP file") from None


def _read(file: zipfile.ZipFile, bytes_max: int) -> Bundle:
    names = file.namelist()
    if len(names) > _MEMBERS_MAX or len(set(names)) != len(names):
        raise BadBundle(why="it has too many members, or one twice")
    left = _Room(bytes_max)
    manifest = _manifest(left.take(file, _MANIFEST, _MANIFEST_BYTES_MAX))
    signature = left.take(file, _SIGNATURE, 64)
    found = {folder: _folder(file, folder, manifest, left) for folder in ("atoms", "objects")}
    expected = {_MANIFEST, _SIGNATURE}
    expected |= {f"{folder}/{name.removeprefix('sha256:')}" for folder, items in found.items() for name in items}
    if set(names) != expected:
        raise BadBundle(why=f"it has a member that its manifest does not list: {min(set(names) - expected)[:80]}")
    return Bundle(manifest, signature, found["atoms"], found["objects"])


class _Room:
    """How many bytes may still be unpacked."""

    def __init__(self, bytes_max: int) -> None:
        self._left = bytes_max

    def take(self, file: zipfile.ZipFile, name: str, most: int | None = None) -> bytes:
        most = self._left if most is None else min(most, self._left)
        try:
            with file.open(name) as member:
                data = member.read(most + 1)
        except KeyError:
            raise BadBundle(why=f"{name[:80]} is missing") from None
        if len(data) > most:
            raise TooLarge(what="The bundle", size=most + 1, limit=most)
        self._left -= len(data)
        return data


def _folder(file: zipfile.ZipFile, folder: str, manifest: dict[str, Any], left: _Room) -> dict[ObjectHash, bytes]:
    found: dict[ObjectHash, bytes] = {}
    for name in _hashes(manifest, folder):
        data = left.take(file, f"{folder}/{name.removeprefix('sha256:')}")
        if bytes_hash(data) != name:
            raise BadBundle(why=f"{folder}/{name} does not hash to its name")
        found[name] = data
    return found


def _hashes(manifest: dict[str, Any], folder: str) -> list[ObjectHash]:
    items = manifest.get(folder)
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise BadBundle(why=f"its manifest has no list of {folder}")
    return [parse_object_hash(item) for item in cast("list[str]", items)]


def _manifest(data: bytes) -> dict[str, Any]:
    try:
        value = parse_canonical(data)
    except ChoirError as error:
        raise BadBundle(why=f"its manifest is not canonical JSON: {error}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadBundle(why=f"its manifest is not of the format {FORMAT}")
    return value
