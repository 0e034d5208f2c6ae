"""Limits of the object store."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value


@dataclass(frozen=True, slots=True)
class ObjectsPolicy:
    """How large objects may be, in which pieces they are kept, and when they are collected."""

    blob_bytes_max: int = value(1_000_000_000, "bytes", 1_000, 100_000_000_000, "spec: node limits", "Largest blob.")
    atom_bytes_max: int = value(
        1_000_000, "bytes", 1_000, 32_000_000, "engineering", "Largest object in canonical JSON form."
    )
    chunk_bytes: int = value(
        262_144, "bytes", 4_096, 8_388_608, "engineering", "Size of the pieces that a blob is kept and streamed in."
    )
    owner_quota_bytes: int = value(
        5_000_000_000, "bytes", 0, 10**15, "engineering", "How much one owner may keep in the store."
    )
    small_bytes: int = value(
        65_536,
        "bytes",
        0,
        1_000_000,
        "engineering",
        "Largest object that is put without waiting for others of its owner, if that is far from its quota.",
    )
    near_quota_bytes: int = value(
        64_000_000,
        "bytes",
        0,
        10**15,
        "engineering",
        "How near to its quota an owner's puts wait for each other, so that it is kept to the byte.",
    )
    unreferenced_s: int = value(
        86_400, "seconds", 0, 365 * 86_400, "engineering", "How long an object that nothing points to is kept."
    )
    collect_objects_max: int = value(
        500, "objects", 1, 100_000, "engineering", "Most objects removed by one round of collection."
    )
    collect_bytes_max: int = value(
        2_000_000_000,
        "bytes",
        1_000,
        10**12,
        "engineering",
        "Most bytes removed by one round of collection; a single larger object is removed alone.",
    )
    whole_bytes_max: int = value(
        32_000_000, "bytes", 1_000, 1_000_000_000, "engineering", "Largest object read whole; others are streamed."
    )
    signatures_max: int = value(64, "signatures", 1, 10_000, "engineering", "Most signatures kept beside one object.")
    label_chars_max: int = value(
        200, "characters", 71, 2_000, "engineering", "Longest name of an owner or of what points to an object."
    )
    collect_every_s: int = value(
        300, "seconds", 1, 86_400, "engineering", "How often objects are looked for that nothing points to."
    )


SECTIONS = {"objects": ObjectsPolicy}
