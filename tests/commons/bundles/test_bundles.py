"""An exported article is checked by nothing but its file; whatever is changed in it is found."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import pytest

from choir.commons.bundles.format import FORMAT, BadBundle, read, write
from choir.commons.bundles.verification import BundleReport, verify_bundle
from choir.commons.policy import CommonsPolicy
from choir.foundation.canonical import bytes_hash, canonical_bytes
from choir.foundation.errors import TooLarge
from tests.commons.desk import Desk

POLICY = CommonsPolicy()


def export(desk: Desk) -> bytes:
    ada = desk.person(chip=150)
    publication = desk.promoted(ada)
    with desk.tx() as tx:
        return desk.commons.bundles.export(tx, ada, publication.article, None)


def check(desk: Desk, data: bytes, key: bytes | None = None) -> BundleReport:
    return verify_bundle(data, desk.commons.referee, POLICY, key)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(items: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in items.items():
            file.writestr(name, data)
    return out.getvalue()


def failed(report: BundleReport) -> set[str]:
    return {item.check for item in report.checks if not item.passed}


def test_an_honest_bundle_passes(desk: Desk) -> None:
    data = export(desk)
    report = check(desk, data)
    assert report.passed, report.checks
    assert len(report.bindings) == 3
    assert {found.verified.value for _, found in report.bindings if found.verified} == {"L2"}
    with desk.tx() as tx:
        key = desk.node.keys.signer(tx).public
    assert check(desk, data, key).passed
    assert failed(check(desk, data, b"\x01" * 32)) == {"manifest"}


def resigned(desk: Desk, data: bytes, change: Callable[[dict[str, bytes], dict[str, object]], None]) -> bytes:
    """A bundle that a node which lies has made: everything is consistent but for the change."""
    from choir.foundation.canonical import canonical_hash, hash_digest

    items = members(data)
    manifest = json.loads(items["manifest.json"])
    change(items, manifest)
    items["manifest.json"] = canonical_bytes(manifest)
    with desk.tx() as tx:
        items["manifest.sig"] = desk.node.keys.signer(tx).sign(hash_digest(canonical_hash(manifest)))
    return packed(items)


def replaced(items: dict[str, bytes], manifest: dict[str, object], folder: str, old: str, data: bytes) -> str:
    """Put other bytes in the place of a member, under their own name."""
    new = bytes_hash(data)
    items.pop(f"{folder}/{old.removeprefix('sha256:')}")
    items[f"{folder}/{new.removeprefix('sha256:')}"] = data
    names = manifest[folder]
    assert isinstance(names, list)
    manifest[folder] = sorted([*(name for name in names if name != old), new])
    return new


def test_every_changed_byte_of_a_member_is_found(desk: Desk) -> None:
    items = members(export(desk))
    for name, data in items.items():
        if name.startswith(("atoms/", "objects/")):
            changed = bytes([data[0] ^ 1]) + data[1:]
            with pytest.raises(BadBundle):
                read(packed({**items, name: changed}), POLICY.bundle_bytes_max)


def test_what_is_missing_or_too_much_is_found(desk: Desk) -> None:
    items = members(export(desk))
    for name in items:
        with pytest.raises(BadBundle):
            read(packed({key: value for key, value in items.items() if key != name}), POLICY.bundle_bytes_max)
    for more in ("atoms/" + "0" * 64, "../evil", "objects/x", "notes.txt"):
        with pytest.raises(BadBundle):
            read(packed({**items, more: b"x"}), POLICY.bundle_bytes_max)


def test_a_manifest_that_nobody_signed_fails(desk: Desk) -> None:
    items = members(export(desk))
    manifest = json.loads(items["manifest.json"])
    manifest["state"] = "retracted"
    items["manifest.json"] = canonical_bytes(manifest)
    assert "manifest" in failed(check(desk, packed(items)))


def test_a_node_that_lies_about_a_source_is_found(desk: Desk) -> None:
    """Other text for a source: its atom does not fit, and extracts do not have the words that they say."""
    data = export(desk)

    def change(items: dict[str, bytes], manifest: dict[str, object]) -> None:
        for name in [name for name in items if name.startswith("objects/")]:
            if b"45 of the 120" in items[name]:
                old = f"sha256:{name.removeprefix('objects/')}"
                replaced(items, manifest, "objects", old, items[name].replace(b"45 of the 120", b"54 of the 120"))

    assert failed(check(desk, resigned(desk, data, change))) >= {"sources"}


def test_an_atom_that_nobody_signed_is_found(desk: Desk) -> None:
    data = export(desk)

    def change(_: dict[str, bytes], manifest: dict[str, object]) -> None:
        signatures = manifest["signatures"]
        assert isinstance(signatures, dict)
        signatures[manifest["synthesis"]] = []

    assert failed(check(desk, resigned(desk, data, change))) == {"signatures"}


def test_an_attestation_of_another_is_not_taken_for_one(desk: Desk) -> None:
    data = export(desk)

    def change(_: dict[str, bytes], manifest: dict[str, object]) -> None:
        manifest["attestations"] = []

    assert failed(check(desk, resigned(desk, data, change))) == {"attestations"}


def test_hostile_files(desk: Desk) -> None:
    for data in (b"", b"PK", b"x" * 1000, packed({}), packed({"manifest.json": b"[]"})):
        with pytest.raises(BadBundle):
            read(data, 1000)
    bomb = packed({"manifest.json": b" " * 30_000_000, "manifest.sig": b""})
    with pytest.raises((TooLarge, BadBundle)):
        read(bomb, 200_000_000)
    items = members(export(desk))
    with pytest.raises((TooLarge, BadBundle)):
        read(packed(items), 2_000)


def test_a_node_that_calls_an_atom_something_else_is_found(desk: Desk) -> None:
    data = export(desk)

    def change(items: dict[str, bytes], manifest: dict[str, object]) -> None:
        names = manifest["atoms"]
        assert isinstance(names, list)
        kinds = {json.loads(items[f"atoms/{name.removeprefix('sha256:')}"])["kind"]: name for name in names}
        extract = json.loads(items[f"atoms/{kinds['EXTRACT'].removeprefix('sha256:')}"])
        replaced(items, manifest, "atoms", kinds["EXTRACT"], canonical_bytes(extract | {"source": kinds["CLAIM"]}))
        manifest["version"] = "first"

    report = check(desk, resigned(desk, data, change))
    assert failed(report) >= {"extracts"}
    assert report.version == 0


def test_damaged_files_are_told_so() -> None:
    """Every byte of a small file, whatever it says then about sizes and checksums: read, or told so, and no crash."""
    atoms = {bytes_hash(data): data for data in (b"one" * 40, b"two" * 40)}
    manifest = {"format": FORMAT, "atoms": sorted(atoms), "objects": []}
    whole = write(manifest, b"s" * 64, atoms, {})
    for place in range(len(whole)):
        with pytest.raises((BadBundle, TooLarge)):
            read(whole[:place], POLICY.bundle_bytes_max)
        changed = whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :]
        try:
            assert read(changed, POLICY.bundle_bytes_max).atoms == atoms  # such as a time, which says nothing here
        except (BadBundle, TooLarge):
            continue
