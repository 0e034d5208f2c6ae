"""The bytes behind every proof: an entry's content, its hash in the chain, its Merkle leaf.

    content = SHA-256(JCS(entry without seq, id, at, prev, hash))
    hash    = SHA-256("choir-entry-v1" ‖ prev ‖ u64 seq ‖ u64 at_us ‖ id ‖ content)
    leaf    = SHA-256(0x00 ‖ the same preimage)

Guarantees: these functions are the only place that knows the layout; an independent implementation
of it is `auditor/choir_verify.py`.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from functools import lru_cache
from json.encoder import encode_basestring as _quote
from typing import Any
from uuid import UUID

from choir.foundation.canonical import ObjectHash, bytes_hash, canonical_bytes, parse_object_hash
from choir.foundation.errors import Invalid
from choir.foundation.money import parse_units
from choir.ledger.model import HOLD_CAPTURE, BadEntry, Draft, HoldTerms, HoldUse, Leg

ZERO_HASH = bytes(32)
_ENTRY_DOMAIN = b"choir-entry-v1"
_ACT_DOMAIN = b"choir-account-v1"
_NUMBERS = struct.Struct(">QQ")
_entry = struct.Struct(">14s32sQQ16s32s").pack  # of parts that are known to have these lengths


def content_text(draft: Draft, legs: tuple[Leg, ...], memo: str | None = None) -> str:
    """The hashed part of an entry in canonical form; absent fields are left out, amounts are strings.

    `memo` is a commitment that is already known, for entries that are read back.

    Written out field by field in the order of RFC 8785, which is several times faster than the
    general encoder; a property test holds the two together.
    """
    legs_text = _leg_text(*legs[0]) if len(legs) == 1 else ",".join([_leg_text(*leg) for leg in legs])
    if draft.memo is not None:
        memo = memo_commitment(draft.memo_salt, draft.memo)
    if not (memo or draft.hold or draft.refs or draft.receipt or draft.policy or draft.corrects):
        kind, reason_and_source = _frame(draft.kind, draft.reason, draft.source)
        return f'{{"key":{_quote(draft.key)}{kind}{legs_text}{reason_and_source}'
    middle = f'"key":{_quote(draft.key)},"kind":{_quote(draft.kind)},"legs":[{legs_text}],'
    before, between, after = _optional_text(draft, memo)
    return f'{{{before}{middle}{between}"reason":{_quote(draft.reason)},{after}"source":{_quote(draft.source)}}}'


@lru_cache(maxsize=10_000)  # few kinds, reasons and sources stand on very many entries
def _frame(kind: str, reason: str, source: str) -> tuple[str, str]:
    """What stands around the legs of an entry that has nothing else."""
    return f',"kind":{_quote(kind)},"legs":[', f'],"reason":{_quote(reason)},"source":{_quote(source)}}}'


def _optional_text(draft: Draft, memo: str | None) -> tuple[str, str, str]:
    """The fields that most entries lack: those before `key`, before `reason` and before `source`."""
    before = between = after = ""
    if draft.corrects is not None:
        before = f'"corrects":"{draft.corrects}",'
    if draft.hold is not None:
        before += f'"hold":{_hold_text(draft.kind, draft.hold)},'
    if memo is not None:
        between = f'"memo":"{memo}",'
    if draft.policy is not None:
        between += f'"policy":"{draft.policy}",'
    if draft.receipt is not None:
        after = f'"receipt":"{draft.receipt}",'
    if draft.refs:
        after += f'"refs":[{",".join(map(_quote, draft.refs))}],'
    return before, between, after


def _leg_text(payer: str, payee: str, amount: int, rest: bool) -> str:
    """A leg; account names are made of characters that JSON does not escape."""
    if rest:
        return f'{{"amount":"{amount}","from":"{payer}","rest":true,"to":"{payee}"}}'
    return f'{{"amount":"{amount}","from":"{payer}","to":"{payee}"}}'


def parse_content(text: str) -> tuple[Draft, str | None]:
    """The draft behind a stored content and its memo's commitment; raises unless it is exactly canonical."""
    try:
        content = json.loads(text)
        memo = content.get("memo")
        draft = _draft(content)
        exact = memo is None or bool(parse_object_hash(memo))
        exact = exact and content_text(draft, draft.legs, memo) == text
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, Invalid):
        exact = False
    if not exact:
        raise BadEntry(why="its content is not canonical or has other fields than an entry has")
    return draft, memo


def parse_memo(text: str) -> str | None:
    """The commitment to a memo inside a content."""
    try:
        return parse_content(text)[1]
    except BadEntry:
        return None


def parse_legs(text: str) -> list[Leg]:
    """The legs inside a content of our own journal, which was checked before it came in."""
    return [Leg(leg["from"], leg["to"], int(leg["amount"])) for leg in json.loads(text)["legs"]]


def parse_key(text: str) -> tuple[str, str] | None:
    """The idempotency key inside a content; nothing where it cannot be read."""
    try:
        content = json.loads(text)
        return content["source"], content["key"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def content_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def memo_commitment(salt: bytes, memo: str) -> ObjectHash:
    """What stands for a memo in the journal; without the salt it says nothing about the memo."""
    return bytes_hash(salt + memo.encode())


def entry_preimage(prev: bytes, seq: int, at_us: int, id_bytes: bytes, content: bytes) -> bytes:
    return b"".join((_ENTRY_DOMAIN, prev, _NUMBERS.pack(seq, at_us), id_bytes, content))


def chain(prev: bytes, seqs: range, at_us: int, ids: Sequence[bytes], contents: Sequence[str]) -> list[bytes]:
    """The hashes of entries that follow one another, after one with the hash `prev`."""
    sha256 = hashlib.sha256
    hashes: list[bytes] = []
    for seq, id_, content in zip(seqs, ids, contents, strict=True):
        digest = sha256(content.encode()).digest()
        prev = sha256(_entry(_ENTRY_DOMAIN, prev, seq, at_us, id_, digest)).digest()
        hashes.append(prev)
    return hashes


def entry_hash(prev: bytes, seq: int, at_us: int, id_: UUID, content: bytes) -> bytes:
    return hashlib.sha256(entry_preimage(prev, seq, at_us, id_.bytes, content)).digest()


def leaf_hash(prev: bytes, seq: int, at_us: int, id_: UUID, content: bytes) -> bytes:
    return hashlib.sha256(b"\0" + entry_preimage(prev, seq, at_us, id_.bytes, content)).digest()


def act_content(account: str, act: str, after: int, reason: str, source: str) -> bytes:
    """The hashed part of an account act in canonical form; `after` is the number of entries before it."""
    return canonical_bytes({"account": account, "act": act, "after": after, "reason": reason, "source": source})


def act_hash(prev: bytes, n: int, at_us: int, content: bytes) -> bytes:
    """The hash of an account act (opening, freezing, closing) in the chain of acts."""
    digest = hashlib.sha256(content).digest()
    return hashlib.sha256(b"".join((_ACT_DOMAIN, prev, _NUMBERS.pack(n, at_us), digest))).digest()


def _draft(content: dict[str, Any]) -> Draft:
    kind = content["kind"]
    legs = tuple(Leg(leg["from"], leg["to"], parse_units(leg["amount"]), rest="rest" in leg) for leg in content["legs"])
    hold = content.get("hold")
    corrects = content.get("corrects")
    return Draft(
        kind=kind,
        reason=content["reason"],
        source=content["source"],
        key=content["key"],
        legs=legs,
        refs=tuple(content.get("refs", ())),
        receipt=_optional_hash(content.get("receipt")),
        policy=_optional_hash(content.get("policy")),
        corrects=None if corrects is None else UUID(corrects),
        hold=None if hold is None else _parse_hold(hold),
    )


def _optional_hash(text: str | None) -> ObjectHash | None:
    return None if text is None else parse_object_hash(text)


def _parse_hold(hold: dict[str, Any]) -> HoldTerms | HoldUse:
    if "captures" in hold:
        return HoldTerms(UUID(hold["id"]), int(hold["expires_us"]), int(hold["captures"]))
    return HoldUse(UUID(hold["id"]), bool(hold.get("final", True)))


def _hold_text(kind: str, hold: HoldTerms | HoldUse) -> str:
    if isinstance(hold, HoldTerms):
        return f'{{"captures":{hold.captures},"expires_us":{hold.expires_us},"id":"{hold.id}"}}'
    if kind == HOLD_CAPTURE:
        return f'{{"final":{"true" if hold.final else "false"},"id":"{hold.id}"}}'
    return f'{{"id":"{hold.id}"}}'
