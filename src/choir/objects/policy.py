"""Limits of the object store."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value


@dataclass(frozen=True, slots=True)
class ObjectsPolicy:
    """How large objects may be, in which pieces they are kept, and when they are collected."""

    blob_bytes_max: int = value(
        1_000_000_000, "bytes", 1_000, 100_000_000_000, "spec: node limits", "Maximum size of a blob."
    )
    atom_bytes_max: int = value(
        1_000_000, "bytes", 1_000, 32_000_000, "engineering", "Maximum size of an object in canonical JSON form."
    )
    chunk_bytes: int = value(
        262_144, "bytes", 4_096, 8_388_608, "engineering", "Piece size for storing and streaming a blob."
    )
    owner_quota_bytes: int = value(5_000_000_000, "bytes", 0, 10**15, "engineering", "Storage quota of one owner.")
    small_bytes: int = value(
        65_536,
        "bytes",
        0,
        1_000_000,
        "engineering",
        "Maximum size of an object stored without a lock on its owner's quota, if far from it.",
    )
    near_quota_bytes: int = value(
        64_000_000,
        "bytes",
        0,
        10**15,
        "engineering",
        "Distance to its quota at which an owner's writes are serialised, so that it is exact.",
    )
    unreferenced_s: int = value(
        86_400, "seconds", 0, 365 * 86_400, "engineering", "How long an unreferenced object is kept."
    )
    collect_objects_max: int = value(
        500, "objects", 1, 100_000, "engineering", "Maximum objects removed per round of garbage collection."
    )
    collect_bytes_max: int = value(
        2_000_000_000,
        "bytes",
        1_000,
        10**12,
        "engineering",
        "Maximum bytes removed per round of garbage collection; a larger object is removed alone.",
    )
    whole_bytes_max: int = value(
        32_000_000,
        "bytes",
        1_000,
        1_000_000_000,
        "engineering",
        "Maximum size of an object read at once; others are streamed.",
    )
    signatures_max: int = value(64, "signatures", 1, 10_000, "engineering", "Maximum signatures of one object.")
    label_chars_max: int = value(
        200, "characters", 71, 2_000, "engineering", "Maximum length of an owner's or referrer's name."
    )
    collect_every_s: int = value(
        300, "seconds", 1, 86_400, "engineering", "Interval of checks for unreferenced objects."
    )


SECTIONS = {"objects": ObjectsPolicy}
