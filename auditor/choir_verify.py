#!/usr/bin/env python3
"""Check a Choir ledger without trusting Choir.

One file, Python 3.9 or newer, nothing but the standard library: read it, then run it anywhere.
It shares no code with Choir. It checks signatures (Ed25519, RFC 8032) with its own arithmetic, hashes
every line again, and replays every movement of value.

    python3 choir_verify.py export ledger.jsonl --key "choir.example+0a1b2c3d+AbCd..."
    python3 choir_verify.py export ledger.jsonl --key "..." --checkpoint checkpoint-of-last-year.txt
    python3 choir_verify.py proof entry-proof.json --key "..."
    python3 choir_verify.py consistency from-may-to-june.json --key "..."
    python3 choir_verify.py liabilities what-i-am-owed.json --key "..."
    python3 choir_verify.py receipt receipt.json --key "..."
    gunzip -c ledger.jsonl.gz | python3 choir_verify.py export - --json

What `export` establishes, if it says VERIFIED:
  * every byte is what the node signed; no line was changed, added, dropped or moved;
  * every entry follows the rules: value only moves, between accounts of one asset that are open at that
    moment (neither frozen nor closed), never below zero where that is not allowed; holds pay out once,
    in time, and never more than was put in; accounts are closed empty;
  * with --key: it was that node; with --checkpoint: its history still begins as it did back then.
What no export can show by itself: that its end was not cut off. Keep checkpoints and pass the latest.

What `liabilities` establishes, if it says VERIFIED: what the file says the node owes you is part of the total that the
node signed. Look yourself whether the accounts and amounts are all that you have. That others are shown the same total
you learn by comparing signed notes: pass one that you got from somebody else with --note.

What `receipt` establishes, if it says VERIFIED: the node signed that this work was judged so and paid so; the verdict
and its evidence are those that the receipt names; and the entry that names the receipt moved exactly that money and is
in the journal. It does not show that the verdict is right: fetch the artifact, look at its hash, and judge it yourself.

Exit codes: 0 verified, 2 wrong usage, 5 a difference was found (the report says where).
Memory stays constant but for one number per account and hold.
The format is described in docs/reference/export-format.md.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

VERIFIED, USAGE, DIFFERENT = 0, 2, 5

EXPORT_FORMAT = "choir-ledger-export/1"
PROOF_FORMAT = "choir-ledger-proof/1"
CONSISTENCY_FORMAT = "choir-ledger-consistency/1"
ROTATION_FORMAT = "choir-key-rotation/1"
LIABILITIES_FORMAT = "choir-liabilities-proof/1"
TOTALS_FORMAT = "choir-liabilities/1"
COMMAND_OF = {EXPORT_FORMAT: "export", PROOF_FORMAT: "proof", CONSISTENCY_FORMAT: "consistency"}
COMMAND_OF[LIABILITIES_FORMAT] = "liabilities"
RECEIPT_FORMAT = "choir-receipt/1"
COMMAND_OF[RECEIPT_FORMAT] = "receipt"
NAMED_FORMAT = re.compile(rb'"format"\s*:\s*"([^"]+)"')

LINE_BYTES_MAX = 16 * 1024 * 1024
FILE_BYTES_MAX = 64 * 1024 * 1024  # of a proof, which is read at once
NOTE_BYTES_MAX = 256 * 1024
SIGNATURES_MAX = 100
INTEGER_MAX = 2**53 - 1  # the largest exact integer of canonical JSON
AMOUNT_MAX = 2**63 - 1
BALANCE_MIN = -(2**63)
SUM_END = 2**127  # sums of liabilities stay below it
SHARES = 4  # what is owed on an account is split into so many
NO_HASH = bytes(32)


class Difference(Exception):
    """Something is not as it must be. Says what, and as exactly as possible where."""

    def __init__(self, what: str, field: str = "", expected: object = "", found: object = "") -> None:
        super().__init__(what)
        self.what = what
        self.field = field
        self.expected = str(expected)
        self.found = str(found)
        self.line: int | None = None
        self.offset: int | None = None

    def at(self, line: int, offset: int) -> Difference:
        """Fill in the place, unless it is known more exactly already."""
        if self.line is None:
            self.line, self.offset = line, offset
        return self

    def within(self, field: str) -> Difference:
        """Put the name of the enclosing field before the field's own."""
        self.field = f"{field}.{self.field}" if self.field else field
        return self

    def report(self) -> dict[str, object]:
        parts = {"what": self.what, "line": self.line, "offset": self.offset, "field": self.field}
        parts.update({"expected": self.expected, "found": self.found})
        return {name: value for name, value in parts.items() if value not in (None, "")}


class UsageError(Exception):
    """The command cannot be carried out as it was given."""


# --- Ed25519 (RFC 8032) ---------------------------------------------------------------------------
# A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z. Slow and simple: a file has few signatures.

Point = tuple[int, int, int, int]

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493  # how many points the base point generates
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def add_points(a: Point, b: Point) -> Point:
    """The sum of two points, equal ones included (RFC 8032, section 5.1.4)."""
    low = (a[1] - a[0]) * (b[1] - b[0]) % P
    high = (a[1] + a[0]) * (b[1] + b[0]) % P
    t = 2 * a[3] * b[3] * D % P
    z = 2 * a[2] * b[2] % P
    e, f, g, h = high - low, z - t, z + t, high + low
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply_point(factor: int, point: Point) -> Point:
    total = NEUTRAL
    while factor:
        if factor & 1:
            total = add_points(total, point)
        point = add_points(point, point)
        factor >>= 1
    return total


def encode_point(point: Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode_point(data: bytes) -> Point | None:
    """The point behind 32 bytes, or None where they are not the one encoding of a point."""
    number = int.from_bytes(data, "little")
    y, x_is_odd = number & (2**255 - 1), number >> 255
    if len(data) != 32 or y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and x_is_odd):
        return None
    if x & 1 != x_is_odd:
        x = P - x
    return (x, y, 1, x * y % P)


def base_point() -> Point:
    point = decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    if point is None:
        raise ArithmeticError("the base point is wrong")
    return point


BASE = base_point()


def ed25519_is_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is by this key over this message, without leniency.

    Refused besides wrong signatures: s not below L (a second form of a good signature), points not in
    their one encoding, and keys of small order (with which anybody could sign).
    """
    key = decode_point(public)
    if key is None or len(signature) != 64 or encode_point(multiply_point(8, key)) == encode_point(NEUTRAL):
        return False
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    challenge = int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L
    minus_key = (P - key[0], key[1], 1, P - key[3])
    return encode_point(add_points(multiply_point(s, BASE), multiply_point(challenge, minus_key))) == r


# --- Merkle tree (RFC 6962, RFC 9162) -------------------------------------------------------------


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def merkle_leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def merkle_node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """A growing tree, of which only the roots of its complete subtrees are kept, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self.subtrees: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        rest = self.size
        while rest & 1:
            leaf = merkle_node(self.subtrees.pop(), leaf)
            rest >>= 1
        self.subtrees.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        if not self.subtrees:
            return sha256(b"")
        root = self.subtrees[-1]
        for left in self.subtrees[-2::-1]:
            root = merkle_node(left, root)
        return root


def root_from_inclusion(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2)."""
    place, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise Difference("the proof has too many hashes", "proof", found=len(proof))
        if place & 1 or place == last:
            root = merkle_node(sibling, root)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            root = merkle_node(root, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise Difference("the proof has too few hashes", "proof", found=len(proof))
    return root


def roots_from_consistency(old: int, new: int, old_root: bytes, proof: list[bytes]) -> tuple[bytes, bytes]:
    """The two roots that a consistency proof leads to, for 0 < old < new (RFC 9162, section 2.1.4.2)."""
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    if not path:
        raise Difference("the proof has too few hashes", "proof", found=0)
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise Difference("the proof has too many hashes", "proof", found=len(proof))
        if place & 1 or place == last:
            first, second = merkle_node(sibling, first), merkle_node(sibling, second)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            second = merkle_node(second, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise Difference("the proof has too few hashes", "proof", found=len(proof))
    return first, second


# --- Signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) --------------------------------

KEY_SHAPE = re.compile(r"[^+\s]+\+[0-9A-Za-z]{8}\+[^\s]{44}")  # a key, or what was meant to be one
COUNT = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)


def decode_base64(text: str) -> bytes | None:
    """The bytes behind base64, or None where it is not in the one form that encoding gives."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


class Key:
    """A public key in its text form, `name+hash+base64(0x01 and 32 bytes)`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.name, _, rest = text.partition("+")
        digits, _, encoded = rest.partition("+")
        data = decode_base64(encoded)
        if not is_key_name(self.name) or data is None or len(data) != 33 or data[:1] != b"\x01":
            raise Difference("this is not a verifier key", "", "name+hash+base64 of an Ed25519 key", text[:120])
        self.public = data[1:]
        self.hash = sha256(self.name.encode() + b"\n" + data)[:4]
        if digits != self.hash.hex():
            raise Difference("the hash inside the key does not fit its name and bytes", "", self.hash.hex(), digits)


class Tree:
    """What a signed note says about a journal: which one, how many entries, which root.

    Checkpoints also say how many account acts there are and which hash the last one has.
    """

    def __init__(self, origin: str, size: str, root: str, extensions: Iterable[str] = ()) -> None:
        decoded = decode_base64(root)
        if not COUNT.fullmatch(size):
            raise Difference("the note's number of entries is not a number", "", "digits, no leading zero", size[:40])
        if decoded is None or len(decoded) != 32:
            raise Difference("the note's root is not base64 of 32 bytes", "", "", root[:80])
        self.origin, self.size, self.root = origin, int(size), decoded
        self.acts: int | None = None
        self.acts_hash = b""
        for line in extensions:
            if line.startswith("acts "):
                self.read_acts(line)

    def read_acts(self, line: str) -> None:
        parts = line.split(" ")
        decoded = decode_base64(parts[2]) if len(parts) == 3 else None
        if decoded is None or len(decoded) != 32 or not COUNT.fullmatch(parts[1]) or self.acts is not None:
            what = "the note's line of account acts is malformed"
            raise Difference(what, "", "once: acts COUNT BASE64-OF-32-BYTES", line[:120])
        self.acts, self.acts_hash = int(parts[1]), decoded


class Rotation:
    """A change of the node's key, signed by the old and the new one."""

    def __init__(self, note: str) -> None:
        lines = split_note(note)[0].split("\n")
        if len(lines) != 7 or lines[0] != ROTATION_FORMAT:
            raise Difference(
                "the note is not a key change", "", f"six lines, the first {ROTATION_FORMAT}", lines[0][:80]
            )
        self.old, self.new = Key(lines[2]), Key(lines[3])
        self.tree = Tree(lines[1], lines[4], lines[5])
        for key in (self.old, self.new):
            open_note(note, [key])
        if self.old.text == self.new.text:
            raise Difference("a key is changed to itself")


def is_key_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(char.isspace() or char < " " for char in name)


def open_note(note: str, keys: Iterable[Key]) -> str:
    """The text of a note that at least one of the keys signed; a bad signature by one condemns it."""
    known = {(key.name, key.hash): key for key in keys}
    text, signatures = split_note(note)
    signed = False
    for name, blob in signatures:
        key = known.get((name, blob[:4]))
        if key is None:
            continue  # a witness, or a key that is not asked for
        if not ed25519_is_valid(key.public, text.encode(), blob[4:]):
            raise Difference(f"the signature by {key.text} does not fit the note's text")
        signed = True
    if not signed:
        names = ", ".join(f"{name}+{blob[:4].hex()}" for name, blob in signatures)
        wanted = " or ".join(key.text for key in known.values())
        raise Difference("the note is not signed by the key it must be signed by", "", wanted, names[:200])
    return text


def split_note(note: str) -> tuple[str, list[tuple[str, bytes]]]:
    """The text, and each signature's key name and bytes; the last blank line divides them."""
    if len(note) > NOTE_BYTES_MAX or any(char < " " and char != "\n" for char in note):
        raise Difference("the note is too large or has a control character")
    text, blank, rest = note.rpartition("\n\n")
    lines = rest[:-1].split("\n")
    if not blank or not rest.endswith("\n") or len(lines) > SIGNATURES_MAX:
        raise Difference("the note is malformed", "", f"text, a blank line, 1 to {SIGNATURES_MAX} signature lines")
    return text + "\n", [parse_signature(line) for line in lines]


def parse_signature(line: str) -> tuple[str, bytes]:
    parts = line.split(" ")
    blob = decode_base64(parts[2]) if len(parts) == 3 else None
    if blob is None or len(blob) < 5 or parts[0] != "\u2014" or not is_key_name(parts[1]):
        raise Difference("a signature line of the note is malformed", "", "\u2014 NAME BASE64", line[:120])
    return parts[1], blob


def open_checkpoint(note: str, keys: Iterable[Key]) -> Tree:
    """What a checkpoint signed by one of the keys says. Extension lines of others are not ours to judge."""
    lines = open_note(note, keys).split("\n")
    if len(lines) < 4 or not all(lines[:-1]):
        raise Difference("the note is not a checkpoint", "", "at least three lines, none of them empty")
    return Tree(lines[0], lines[1], lines[2], lines[3:-1])


# --- JSON and the shape of records ----------------------------------------------------------------

HEX32 = re.compile(r"[0-9a-f]{64}", re.ASCII)
OBJECT_HASH = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.ASCII)
AMOUNT = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
SUM_DIGITS = re.compile(r"0|[1-9][0-9]{0,38}", re.ASCII)
TOTAL_LINE = re.compile(r"([A-Z]{1,8}) ([1-9][0-9]{0,15}) ([1-9][0-9]{0,38}) ([A-Za-z0-9+/]{43}=)", re.ASCII)
ACCOUNT = re.compile(
    r"(?:(?:person|agent|treasury|system|world|hold):[A-Za-z0-9_-]{1,64}"
    r"/(?:available|stake|escrow|vesting|pool|insurance|operations|fees|owed|claim|holdings)"
    r"|(?:system|treasury):[A-Za-z0-9_-]{1,64}/issuance"  # these two may go below zero
    r"|world:[A-Za-z0-9_-]{1,64}/external)"
    r"(?:\.[a-z][a-z0-9_]{0,31})?/(?P<asset>CREDIT|CHIP|USDC|SAT|AID|USD)",
    re.ASCII,
)

Check = tuple[str, Callable[[Any], bool]]  # what is expected, in words; whether a value is that
Checks = dict[str, Check]


def matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: type(value) is str and pattern.fullmatch(value) is not None


def is_integer(least: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= INTEGER_MAX


def is_amount(value: object) -> bool:
    return type(value) is str and AMOUNT.fullmatch(value) is not None and int(value) <= AMOUNT_MAX


def is_sum(value: object) -> bool:
    return type(value) is str and SUM_DIGITS.fullmatch(value) is not None and int(value) < SUM_END


TEXT: Check = ("a non-empty string", lambda value: type(value) is str and value != "")
NOTE: Check = ("a signed note", lambda value: type(value) is str)
HASH: Check = ("64 lower-case hex digits", matches(HEX32))
NAMED_HASH: Check = ("sha256: and 64 lower-case hex digits", matches(OBJECT_HASH))
ID: Check = ("a lower-case UUID", matches(UUID))
ENTRY_ID: Check = ("a lower-case UUID of version 7", matches(UUID7))
NAME: Check = ("an account name, kind:id/role/ASSET", matches(ACCOUNT))
UNITS: Check = (f"a decimal string from 1 to {AMOUNT_MAX}", is_amount)
COUNTER: Check = ("an integer from 0", is_integer(0))
POSITIVE: Check = ("an integer from 1", is_integer(1))
BOOLEAN: Check = ("true or false", lambda value: type(value) is bool)
TRUE: Check = ("true", lambda value: value is True)
OBJECT: Check = ("an object", lambda value: type(value) is dict)
TEXTS: Check = (
    "a list of strings",
    lambda value: type(value) is list and all(type(item) is str for item in value),
)
REFERENCES: Check = (
    "a non-empty list of strings; left out where there are none",
    lambda value: type(value) is list and bool(value) and all(type(item) is str for item in value),
)
FULL_LIST: Check = ("a non-empty list", lambda value: type(value) is list and bool(value))


def literal(text: str) -> Check:
    return (json.dumps(text), lambda value: value == text)


HEADER = {"format": literal(EXPORT_FORMAT), "key": TEXT, "origin": TEXT, "type": literal("header")}
ROTATION = {"note": NOTE, "type": literal("rotation")}
ACT = ("open, freeze, unfreeze or close", lambda value: value in ("open", "freeze", "unfreeze", "close"))
ACCOUNT_ACT = {"account": NAME, "act": ACT, "after": COUNTER, "at_us": COUNTER, "hash": HASH, "n": POSITIVE}
ACCOUNT_ACT.update({"prev": HASH, "reason": TEXT, "source": TEXT, "type": literal("account")})
ENTRY = {"at_us": COUNTER, "content": OBJECT, "hash": HASH, "id": ENTRY_ID, "prev": HASH, "seq": POSITIVE}
ENTRY.update({"type": literal("entry")})
CONTENT = {"key": TEXT, "kind": TEXT, "legs": FULL_LIST, "reason": TEXT, "source": TEXT}
CONTENT_MAYBE = {"corrects": ID, "hold": OBJECT, "memo": NAMED_HASH, "policy": NAMED_HASH, "receipt": NAMED_HASH}
CONTENT_MAYBE.update({"refs": REFERENCES})
LEG = {"amount": UNITS, "from": NAME, "to": NAME}
LEG_MAYBE = {"rest": TRUE}
HOLD = {
    "hold.place": {"captures": POSITIVE, "expires_us": COUNTER, "id": ID},
    "hold.capture": {"final": BOOLEAN, "id": ID},
    "hold.release": {"id": ID},
    "hold.expire": {"id": ID},
}
TRAILER = {"account_head": HASH, "accounts": COUNTER, "bytes": COUNTER, "checkpoint": NOTE, "entries": COUNTER}
TRAILER.update({"sha256": HASH, "signature": TEXT, "type": literal("trailer")})
PROOF = {"format": literal(PROOF_FORMAT), "entry": OBJECT, "proof": TEXTS, "checkpoint": NOTE, "rotations": TEXTS}
CONSISTENCY = {"format": literal(CONSISTENCY_FORMAT), "from": NOTE, "to": NOTE, "proof": TEXTS, "rotations": TEXTS}
OBJECTS: Check = (
    "a list of objects",
    lambda value: type(value) is list and all(type(item) is dict for item in value),
)
SUM: Check = ("a decimal string from 0 to 2^127-1", is_sum)
LIABILITIES = {"format": literal(LIABILITIES_FORMAT), "accounts": OBJECTS, "note": NOTE, "checkpoint": NOTE}
LIABILITIES.update({"rotations": TEXTS})
OWED = {"account": NAME, "balance": SUM, "held": SUM, "shares": OBJECTS}
SHARE = {"amount": SUM, "beside": OBJECTS, "index": COUNTER, "salt": TEXT}
BESIDE = {"hash": TEXT, "sum": SUM}


IS_PAYMENT: Check = ("an object, or null where nothing was paid", lambda value: value is None or type(value) is dict)
RECEIPT_FILE = {"format": literal(RECEIPT_FORMAT), "hash": NAMED_HASH, "receipt": OBJECT, "signatures": OBJECTS}
RECEIPT_FILE.update({"verdict": OBJECT, "evidence": OBJECT, "payment": IS_PAYMENT, "rotations": TEXTS})
SIGNATURE = {"scheme": TEXT, "public": TEXT, "signature": TEXT}
PAYMENT = {"entry": OBJECT, "proof": TEXTS, "checkpoint": NOTE}
OUTCOME: Check = ("passed, lost or failed", lambda value: value in ("passed", "lost", "failed"))
LEVEL: Check = ("V1, V2, V3 or V4", lambda value: value in ("V1", "V2", "V3", "V4"))
MONEY = {"amount": SUM, "asset": TEXT}
RECEIPT = {"format": literal("receipt/1"), "payer": TEXT, "actor": TEXT, "action": TEXT, "job": TEXT, "attempt": TEXT}
RECEIPT.update({"payee": TEXT, "budget": OBJECT, "spent": OBJECT, "objects": OBJECT, "verifiers": OBJECTS})
RECEIPT.update({"sandbox": TEXT, "outcome": OUTCOME, "policy": NAMED_HASH, "at": TEXT})
RECEIPT_KEYS = {"payer": HASH, "payee": HASH}
RECEIPT_SHARES = {"payee": SUM, "platform": SUM}
RECEIPT_SHARES_MAYBE = {**RECEIPT_SHARES, "verification": SUM}  # what stronger checks cost
VERIFIER = {"name": TEXT, "version": TEXT}
VERDICT = {"format": literal("verdict/1"), "job": TEXT, "attempt": TEXT, "request": TEXT, "artifact": TEXT}
VERDICT.update({"passed": BOOLEAN, "units_milli": COUNTER, "sandbox": TEXT, "checks": OBJECTS})


def short_integer(digits: str) -> int:
    """No number of the format is longer; reading a huge one could take for ever."""
    if len(digits) > 16:
        raise ValueError("an integer is beyond 2^53")
    return int(digits)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("an object has the same key twice")
    return record


DECODER = json.JSONDecoder(parse_int=short_integer)  # the canonical form tells of keys that stand twice
CAREFUL_DECODER = json.JSONDecoder(parse_int=short_integer, object_pairs_hook=unique_keys)
ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False)


def canonical(value: object) -> bytes:
    """Canonical JSON (RFC 8785), for values with ASCII keys and without fractions: all of ours."""
    return ENCODER.encode(value).encode()


def count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."


def show_bytes(data: bytes) -> str:
    return show(data[:40].decode("utf-8", "replace"))


def check_fields(record: dict[str, Any], path: str, needed: Checks, maybe: Checks | None = None) -> None:
    """Refuse a record with a field that is missing, unknown or not what it must be."""
    for name, (words, is_right) in needed.items():
        if name not in record:
            raise Difference("a field is missing", path + name, words)
        if not is_right(record[name]):
            raise Difference("a field is not what it must be", path + name, words, show(record[name]))
    if len(record) == len(needed):
        return
    for name, value in record.items():
        if name in needed:
            continue
        if maybe is None or name not in maybe:
            raise Difference("there is an unknown field", path + name)
        words, is_right = maybe[name]
        if not is_right(value):
            raise Difference("a field is not what it must be", path + name, words, show(value))


def check_content(content: dict[str, Any]) -> None:
    """The shape of an entry's content; what it does to balances is judged elsewhere."""
    check_fields(content, "content.", CONTENT, CONTENT_MAYBE)
    is_hold = content["kind"] in HOLD
    for number, leg in enumerate(content["legs"]):
        path = f"content.legs[{number}]."
        if type(leg) is not dict:
            raise Difference("a leg is not an object", path[:-1], "an object", show(leg))
        check_fields(leg, path, LEG, LEG_MAYBE)
        if leg["from"] == leg["to"]:
            raise Difference("a leg leads from an account to itself", path + "to", "another account", leg["to"])
        if asset_of(leg["from"]) != asset_of(leg["to"]):
            raise Difference("a leg leads to another asset", path + "to", asset_of(leg["from"]), asset_of(leg["to"]))
        if "rest" in leg and not is_hold:
            raise Difference("only a hold has a rest to give back", path + "rest")
    if is_hold != ("hold" in content):
        raise Difference("a hold's terms must be in hold entries, and only there", "content.hold")
    if is_hold:
        check_fields(content["hold"], "content.hold.", HOLD[content["kind"]])
    elif content["kind"].startswith("hold."):
        raise Difference("there is no such kind of hold entry", "content.kind", " or ".join(HOLD), content["kind"])


def asset_of(account: str) -> str:
    return account.rpartition("/")[2]


def entry_preimage(entry: dict[str, Any]) -> bytes:
    """The bytes that both the chain and the Merkle tree hash for an entry."""
    return b"".join(
        (
            b"choir-entry-v1",
            bytes.fromhex(entry["prev"]),
            entry["seq"].to_bytes(8, "big"),
            entry["at_us"].to_bytes(8, "big"),
            bytes.fromhex(entry["id"].replace("-", "")),
            sha256(canonical(entry["content"])),
        )
    )


def act_hash(act: dict[str, Any]) -> bytes:
    """The hash of an account act, which holds the previous one's."""
    content = {name: act[name] for name in ("account", "act", "after", "reason", "source")}
    numbers = act["n"].to_bytes(8, "big") + act["at_us"].to_bytes(8, "big")
    return sha256(b"choir-account-v1" + bytes.fromhex(act["prev"]) + numbers + sha256(canonical(content)))


# --- Balances and holds ---------------------------------------------------------------------------


class Hold:
    """The terms of a hold that is not finished."""

    __slots__ = ("account", "captures_left", "expires_us", "payer")

    def __init__(self, account: str, payer: str, captures: int, expires_us: int) -> None:
        self.account = account
        self.payer = payer
        self.captures_left = captures
        self.expires_us = expires_us


class Accounts:
    """Which accounts exist, what is in them, and what the holds allow."""

    def __init__(self) -> None:
        self.balances: dict[str, int] = {}
        self.frozen: set[str] = set()
        self.closed: set[str] = set()
        self.holds: dict[str, Hold] = {}
        self.holds_of: dict[str, int] = {}  # how many holds an account is the payer of
        self.finished_holds: set[int] = set()

    def act(self, name: str, act: str) -> None:
        """Open, freeze, unfreeze or close an account."""
        state = self.state_of(name)
        if name.startswith("hold:"):
            raise Difference("a hold's account is opened by its entry, not by an act", "account", found=name)
        wanted = {"open": "unknown", "freeze": "open", "unfreeze": "frozen", "close": "open"}[act]
        if state != wanted:
            raise Difference(f"the act '{act}' is not possible for this account", "act", f"{wanted} account", state)
        if act == "open":
            self.balances[name] = 0
        elif act == "close":
            self.close(name)
        elif act == "freeze":
            self.frozen.add(name)
        else:
            self.frozen.remove(name)

    def close(self, name: str) -> None:
        """Close an account, which must be empty and stay so."""
        if self.balances[name] != 0:
            what = f"the account {name} is closed and not empty"
            raise Difference(what, "account", "a balance of 0", self.balances[name])
        if name in self.holds_of:
            what = f"the account {name} is closed while a hold may give money back to it"
            raise Difference(what, "account", "no open hold", self.holds_of[name])
        self.closed.add(name)

    def state_of(self, name: str) -> str:
        if name not in self.balances:
            return "unknown"
        if name in self.closed:
            return "closed"
        return "frozen" if name in self.frozen else "open"

    def apply(self, content: dict[str, Any], at_us: int) -> None:
        """Carry out an entry, or say which rule it breaks."""
        kind, legs = content["kind"], content["legs"]
        hold = None
        if kind == "hold.place":
            self.place(content["hold"], legs)
        elif kind in HOLD:
            hold = self.hold_to_move(content["hold"]["id"])
        self.check_sides(legs, kind, hold)
        self.move(legs)
        if hold is None:
            return
        if kind == "hold.capture":
            self.after_capture(hold, content["hold"], legs, at_us)
        else:
            self.after_return(hold, content["hold"]["id"], kind, legs, at_us)

    def place(self, terms: dict[str, Any], legs: list[dict[str, Any]]) -> None:
        """Open the hold's account."""
        account = f"hold:{terms['id']}/escrow/{asset_of(legs[0]['to'])}"
        if len(legs) != 1 or legs[0]["to"] != account:
            raise Difference("a hold is placed by one leg into its own account", "content.legs", account)
        if "rest" in legs[0]:
            raise Difference("placing a hold has no rest", "content.legs[0].rest")
        if terms["id"] in self.holds or uuid_number(terms["id"]) in self.finished_holds:
            raise Difference("this hold was placed before", "content.hold.id", "a new id", terms["id"])
        payer = legs[0]["from"]
        self.holds[terms["id"]] = Hold(account, payer, terms["captures"], terms["expires_us"])
        self.holds_of[payer] = self.holds_of.get(payer, 0) + 1
        self.balances[account] = 0

    def hold_to_move(self, hold_id: str) -> Hold:
        hold = self.holds.get(hold_id)
        if hold is None:
            ended = uuid_number(hold_id) in self.finished_holds
            found = "it has ended" if ended else "it was never placed"
            raise Difference("this hold is not there", "content.hold.id", "a hold that was placed and not ended", found)
        return hold

    def check_sides(self, legs: list[dict[str, Any]], kind: str, hold: Hold | None) -> None:
        """A hold's account receives from its placing only, and gives to its other entries only."""
        for number, leg in enumerate(legs):
            if hold is not None and leg["from"] != hold.account:
                path = f"content.legs[{number}].from"
                raise Difference("this entry may only take from its hold", path, hold.account, leg["from"])
            self.check_side(f"content.legs[{number}].from", leg["from"], own_hold=hold is not None)
            is_rest = "rest" in leg
            self.check_side(f"content.legs[{number}].to", leg["to"], own_hold=kind == "hold.place", is_rest=is_rest)

    def check_side(self, path: str, name: str, own_hold: bool, is_rest: bool = False) -> None:
        """An account must be open now; a frozen one may get back what was left in a hold."""
        if name.startswith("hold:"):
            if not own_hold:
                raise Difference("this entry may not touch a hold's account", path, "", name)
            return
        if name not in self.balances:
            raise Difference("this account was not opened before", path, "an account with an open act", name)
        if name in self.closed:
            raise Difference("this account was closed", path, "an open account", name)
        if name in self.frozen and not is_rest:
            raise Difference("this account was frozen", path, "an open account", name)

    def move(self, legs: list[dict[str, Any]]) -> None:
        """Move the amounts; then no balance may be out of bounds."""
        balances = self.balances
        for leg in legs:
            units = int(leg["amount"])
            balances[leg["from"]] -= units
            balances[leg["to"]] += units
        for number, leg in enumerate(legs):
            for side in ("from", "to"):
                self.check_balance(leg[side], number, side)

    def check_balance(self, name: str, number: int, side: str) -> None:
        balance, path = self.balances[name], f"content.legs[{number}].{side}"
        if balance < 0 and not may_be_negative(name):
            raise Difference(f"the account {name} is overdrawn", path, "a balance of 0 or more", balance)
        if not BALANCE_MIN <= balance <= AMOUNT_MAX:
            raise Difference(f"the balance of {name} is beyond 64 bits", path, "63 bits and a sign", balance)

    def after_capture(self, hold: Hold, terms: dict[str, Any], legs: list[dict[str, Any]], at_us: int) -> None:
        """A capture must be in time; the last one leaves nothing, and only it gives the rest back."""
        if at_us >= hold.expires_us:
            raise Difference("the hold was captured after it had expired", "at_us", f"before {hold.expires_us}", at_us)
        hold.captures_left -= 1
        last = terms["final"] or hold.captures_left == 0
        rests = [number for number, leg in enumerate(legs) if "rest" in leg]
        if rests and (not last or len(rests) > 1 or legs[rests[0]]["to"] != hold.payer):
            path = f"content.legs[{rests[-1]}].rest"
            raise Difference("the rest goes back once, with the last capture, to the payer", path, hold.payer)
        if last:
            self.finish(hold, terms["id"], "the last capture must leave nothing in the hold")

    def after_return(self, hold: Hold, hold_id: str, kind: str, legs: list[dict[str, Any]], at_us: int) -> None:
        """A release or an expiry gives all that is left back to the payer."""
        if kind == "hold.expire" and at_us < hold.expires_us:
            raise Difference("the hold expired before its time", "at_us", f"{hold.expires_us} or later", at_us)
        if len(legs) != 1 or legs[0]["to"] != hold.payer:
            raise Difference("what is left of a hold goes to its payer in one leg", "content.legs", hold.payer)
        if "rest" not in legs[0]:
            raise Difference("what is left of a hold goes back as its rest", "content.legs[0].rest", "true", "nothing")
        self.finish(hold, hold_id, "the whole rest of the hold must go back")

    def finish(self, hold: Hold, hold_id: str, what: str) -> None:
        """Forget a hold's account; its id is remembered so that it cannot be placed again."""
        left = self.balances.pop(hold.account)
        if left != 0:
            raise Difference(what, "content.legs", "a balance of 0", left)
        del self.holds[hold_id]
        self.finished_holds.add(uuid_number(hold_id))
        self.holds_of[hold.payer] -= 1
        if self.holds_of[hold.payer] == 0:
            del self.holds_of[hold.payer]


def uuid_number(text: str) -> int:
    return int(text.replace("-", ""), 16)


def may_be_negative(account: str) -> bool:
    """Only where value enters the system, or comes from outside, is a balance below zero."""
    role = account.split("/")[1].partition(".")[0]
    return role in ("issuance", "external")


# --- Export ---------------------------------------------------------------------------------------

ORDER = {"header": 0, "rotation": 1, "account": 2, "entry": 2, "trailer": 3}


class WantedRoot:
    """A root that a signed note claims for the first entries of this journal."""

    def __init__(self, root: bytes, when_different: str, when_too_short: str) -> None:
        self.root = root
        self.when_different = when_different
        self.when_too_short = when_too_short


class Export:
    """One pass over an export, line by line."""

    def __init__(self, trusted: Key | None, held: str | None) -> None:
        self.trusted, self.held = trusted, held
        self.line, self.offset = 0, 0
        self.stage = ""  # the type of the line before
        self.bytes_hash = hashlib.sha256()
        self.origin = ""
        self.keys: list[Key] = []
        self.wanted: dict[int, list[WantedRoot]] = {}
        self.rotated_size = 0
        self.accounts = Accounts()
        self.held_tree: Tree | None = None
        self.act_count, self.act_head = 0, NO_HASH
        self.tree, self.head = MerkleTree(), NO_HASH
        self.at_us = 0  # of the last entry or act

    def run(self, stream: BinaryIO) -> None:
        """Check everything; returns if all is well and raises `Difference` at the first that is not."""
        while True:
            raw = stream.readline(LINE_BYTES_MAX + 1)
            self.line += 1
            try:
                if not raw:
                    break
                self.take(raw)
            except Difference as difference:
                raise difference.at(self.line, self.offset) from None
            self.offset += len(raw)
        if self.stage != "trailer":
            what = "the export ends without a trailer"
            raise Difference(what, "", "a trailer line", "the end").at(self.line, self.offset)

    def take(self, raw: bytes) -> None:
        if self.stage == "trailer":
            raise Difference("there is something after the trailer", "", "the end of the file", show_bytes(raw))
        record = self.parse(raw)
        kind = record.get("type")
        self.check_order(kind)
        if self.stage in ("header", "rotation") and kind != "rotation":
            self.settle_keys()
        handlers = {"header": self.header, "rotation": self.rotation, "account": self.account, "entry": self.entry}
        handlers.get(str(kind), self.trailer)(record)
        self.stage = str(kind)
        self.bytes_hash.update(raw)

    def parse(self, raw: bytes) -> dict[str, Any]:
        """The object on a line, which must be in the one canonical form, byte for byte."""
        if len(raw) > LINE_BYTES_MAX:
            raise Difference("the line is too long", "", f"at most {LINE_BYTES_MAX} bytes")
        if not raw.endswith(b"\n"):
            raise Difference("the line is cut off", "", "a newline at its end")
        try:
            record = DECODER.decode(raw[:-1].decode("utf-8"))
            expected = canonical(record) + b"\n"
        except (ValueError, RecursionError) as error:
            raise Difference("the line is not JSON in UTF-8", "", "", str(error)[:120]) from None
        if expected != raw:
            place = first_difference(expected, raw)
            difference = Difference(
                "the line is not in canonical form (spaces, order, escapes, or a key twice)",
                "",
                show_bytes(expected[place:]),
                show_bytes(raw[place:]),
            )
            raise difference.at(self.line, self.offset + place)
        if type(record) is not dict:
            raise Difference("the line is not an object", "", "an object", show(record))
        return record

    def check_order(self, kind: object) -> None:
        """Header, key changes, entries with account acts between them, trailer: in this order."""
        if not self.stage:
            allowed = ["header"]
        else:
            least = max(ORDER[self.stage], ORDER["rotation"])
            allowed = [name for name, place in ORDER.items() if place >= least]
        if kind not in allowed:
            raise Difference("a line of this type cannot stand here", "type", " or ".join(allowed), show(kind))

    def header(self, record: dict[str, Any]) -> None:
        check_fields(record, "", HEADER)
        self.origin = record["origin"]
        try:
            self.keys = [Key(record["key"])]
        except Difference as difference:
            raise difference.within("key") from None

    def rotation(self, record: dict[str, Any]) -> None:
        check_fields(record, "", ROTATION)
        try:
            rotation = Rotation(record["note"])
        except Difference as difference:
            raise difference.within("note") from None
        if rotation.tree.origin != self.origin:
            raise Difference("the key change is of another journal", "note", self.origin, rotation.tree.origin)
        if rotation.old.text != self.keys[-1].text:
            what = "the key change does not start from the current key"
            raise Difference(what, "note", self.keys[-1].text, rotation.old.text)
        if rotation.tree.size < self.rotated_size:
            what, least = "the key change is older than the one before", f"{self.rotated_size} entries or more"
            raise Difference(what, "note", least, rotation.tree.size)
        self.rotated_size = rotation.tree.size
        self.keys.append(rotation.new)
        self.want(
            rotation.tree,
            "the key change names another root",
            "entries are missing: the key change names {}, this export has {}",
        )

    def want(self, tree: Tree, when_different: str, when_too_short: str) -> None:
        """Remember to compare roots when that many entries are read."""
        self.wanted.setdefault(tree.size, []).append(WantedRoot(tree.root, when_different, when_too_short))

    def settle_keys(self) -> None:
        """All key changes are read: look for the trusted key, and open the checkpoint that is held."""
        names = [key.text for key in self.keys]
        if self.trusted is not None and self.trusted.text not in names:
            what = "the key you trust never signed for this journal"
            raise Difference(what, "key", self.trusted.text, ", ".join(names)).at(1, 0)
        if self.held is not None:
            try:
                tree = open_checkpoint(self.held, self.keys)
            except Difference as difference:
                raise difference.within("--checkpoint") from None
            if tree.origin != self.origin:
                raise Difference("your checkpoint is of another journal", "origin", tree.origin, self.origin).at(1, 0)
            self.want(
                tree,
                "history was forked: it does not begin with the entries of your checkpoint",
                "the end of history is missing: your checkpoint has {}, this export {}",
            )
            self.held_tree = tree
            self.check_held_acts(0)
        self.check_wanted()

    def check_wanted(self) -> None:
        """Compare the root with what was signed for exactly this many entries."""
        for wanted in self.wanted.pop(self.tree.size, ()):
            root = self.tree.root()
            if root != wanted.root:
                what = f"{wanted.when_different} (after {count(self.tree.size, 'entry', 'entries')})"
                raise Difference(what, "root", wanted.root.hex(), root.hex())

    def check_held_acts(self, after: int) -> None:
        """The held checkpoint knows all acts up to its own last one, and none that came before its end.

        `after` is the number of entries before the last act.
        """
        held = self.held_tree
        if held is None or held.acts is None:
            return
        forked = f"account history was forked: it does not begin with the {held.acts} account acts of your checkpoint"
        if self.act_count == held.acts:
            if self.act_head != held.acts_hash:
                raise Difference(forked, "hash", held.acts_hash.hex(), self.act_head.hex())
            if after > held.size:
                raise Difference(forked, "after", f"at most {held.size}", after)
        elif self.act_count > held.acts and after < held.size:
            raise Difference(forked, "after", f"{held.size} or more", after)

    def account(self, record: dict[str, Any]) -> None:
        check_fields(record, "", ACCOUNT_ACT)
        expect(record["n"], self.act_count + 1, "n", "an account act is missing or out of place")
        expect(record["prev"], self.act_head.hex(), "prev", "the account act does not follow the one before")
        head = act_hash(record)
        expect(record["hash"], head.hex(), "hash", "the hash does not fit the account act")
        expect(record["after"], self.tree.size, "after", "the account act stands at another place among the entries")
        self.check_time(record["at_us"])
        self.accounts.act(record["account"], record["act"])
        self.act_count, self.act_head, self.at_us = record["n"], head, record["at_us"]
        self.check_held_acts(record["after"])

    def entry(self, record: dict[str, Any]) -> None:
        check_fields(record, "", ENTRY)
        expect(record["seq"], self.tree.size + 1, "seq", "an entry is missing or out of place")
        expect(record["prev"], self.head.hex(), "prev", "the entry does not follow the one before")
        preimage = entry_preimage(record)
        head = sha256(preimage)
        expect(record["hash"], head.hex(), "hash", "the hash does not fit the entry")
        self.check_time(record["at_us"])
        check_content(record["content"])
        self.accounts.apply(record["content"], record["at_us"])
        self.tree.append(merkle_leaf(preimage))
        self.head, self.at_us = head, record["at_us"]
        if self.wanted:
            self.check_wanted()

    def check_time(self, at_us: int) -> None:
        if at_us < self.at_us:
            raise Difference("time goes backwards", "at_us", f"{self.at_us} or later", at_us)

    def trailer(self, record: dict[str, Any]) -> None:
        check_fields(record, "", TRAILER)
        expect(record["bytes"], self.offset, "bytes", "the file has another size than was signed")
        expect(record["sha256"], self.bytes_hash.hexdigest(), "sha256", "the file has other bytes than were signed")
        expect(record["accounts"], self.act_count, "accounts", "the number of account acts differs")
        expect(record["account_head"], self.act_head.hex(), "account_head", "the last account act differs")
        expect(record["entries"], self.tree.size, "entries", "the number of entries differs")
        try:
            tree = open_checkpoint(record["checkpoint"], self.keys[-1:])
        except Difference as difference:
            raise difference.within("checkpoint") from None
        expect(tree.origin, self.origin, "checkpoint", "the checkpoint is of another journal")
        expect(tree.size, self.tree.size, "checkpoint", "the checkpoint has another number of entries")
        expect(tree.root.hex(), self.tree.root().hex(), "checkpoint", "the checkpoint has another root")
        expect(tree.acts, self.act_count, "checkpoint", "the checkpoint has another number of account acts")
        expect(tree.acts_hash.hex(), self.act_head.hex(), "checkpoint", "the checkpoint has another last account act")
        self.check_signature(record)
        self.check_end()

    def check_signature(self, record: dict[str, Any]) -> None:
        signature = decode_base64(record["signature"]) or b""
        rest = {name: value for name, value in record.items() if name != "signature"}
        message = b"choir-export-trailer-v1\n" + canonical(rest)
        if not ed25519_is_valid(self.keys[-1].public, message, signature):
            what = "the trailer is not signed by the node's current key"
            raise Difference(what, "signature", f"a signature by {self.keys[-1].text}", record["signature"][:100])

    def check_end(self) -> None:
        """Nothing that was signed for may be missing."""
        for size in sorted(self.wanted):
            wanted = self.wanted[size][-1]
            what = wanted.when_too_short.format(count(size, "entry", "entries"), self.tree.size)
            raise Difference(what, "entries", f"{size} or more", self.tree.size)
        held_acts = (self.held_tree.acts if self.held_tree else None) or 0
        if held_acts > self.act_count:
            what = "the end of the account history is missing: your checkpoint has {} account acts, this export {}"
            what = what.format(held_acts, self.act_count)
            raise Difference(what, "accounts", f"{held_acts} or more", self.act_count)

    def result(self) -> dict[str, Any]:
        notes = []
        if self.trusted is None:
            notes.append(
                "The key was taken from the file itself: this shows that the file is whole, not who made it. "
                "Get the node's key from elsewhere and pass it with --key."
            )
        if self.held is None:
            notes.append("No --checkpoint was given: that the end of history was not cut off is not shown.")
        elif self.held_tree is not None and self.held_tree.acts is None:
            notes.append("Your checkpoint does not speak of account acts: that these were not rewritten is not shown.")
        return {
            "origin": self.origin,
            "entries": self.tree.size,
            "account_acts": self.act_count,
            "bytes": self.offset,
            "root": self.tree.root().hex(),
            "head": self.head.hex(),
            "key": self.keys[-1].text,
            "key_changes": len(self.keys) - 1,
            "key_given": self.trusted is not None,
            "checkpoint_given": self.held is not None,
            "notes": notes,
        }


def expect(found: object, expected: object, field: str, what: str) -> None:
    if found != expected:
        raise Difference(what, field, expected, found)


def first_difference(one: bytes, other: bytes) -> int:
    """The place of the first byte at which two byte strings differ."""
    shorter = min(len(one), len(other))
    for place in range(shorter):
        if one[place] != other[place]:
            return place
    return shorter


# --- Proofs ---------------------------------------------------------------------------------------


def parse_file(data: bytes) -> dict[str, Any]:
    """The object in a proof file; spaces and order are free here, keys must still be unique."""
    if len(data) > FILE_BYTES_MAX:
        raise Difference("the file is too large", "", f"at most {FILE_BYTES_MAX} bytes")
    try:
        record = CAREFUL_DECODER.decode(data.decode("utf-8"))
        canonical(record)
    except (ValueError, RecursionError) as error:
        raise Difference("the file is not JSON in UTF-8 with unique keys", "", "", str(error)[:120]) from None
    if type(record) is not dict:
        raise Difference("the file is not a JSON object", "", "an object", show(record))
    return record


def decode_hashes(texts: list[str]) -> list[bytes]:
    hashes = []
    for number, text in enumerate(texts):
        data = decode_base64(text)
        if data is None or len(data) != 32:
            raise Difference("a hash of the proof is malformed", f"proof[{number}]", "base64 of 32 bytes", text[:80])
        hashes.append(data)
    return hashes


def reachable_keys(trusted: Key, notes: list[str]) -> tuple[list[Key], set[str]]:
    """The keys that key changes connect with the trusted one, forwards and backwards; and their journals."""
    changes = []
    for number, note in enumerate(notes):
        try:
            changes.append(Rotation(note))
        except Difference as difference:
            raise difference.within(f"rotations[{number}]") from None
    keys = {trusted.text: trusted}
    for _ in changes:  # each round reaches at least one more key, or nothing more is reachable
        for change in changes:
            if change.old.text in keys or change.new.text in keys:
                keys.update({change.old.text: change.old, change.new.text: change.new})
    return list(keys.values()), {change.tree.origin for change in changes}


def open_named(record: dict[str, Any], field: str, keys: list[Key], origins: set[str]) -> Tree:
    """The checkpoint in a field of a proof file, of the journal that the key changes are of."""
    try:
        tree = open_checkpoint(record[field], keys)
    except Difference as difference:
        raise difference.within(field) from None
    if origins - {tree.origin}:
        raise Difference("a key change is of another journal", "rotations", tree.origin, ", ".join(sorted(origins)))
    return tree


def check_inclusion(record: dict[str, Any], keys: list[Key], origins: set[str]) -> Tree:
    """The journal that a checkpoint speaks of; raises unless the entry is in it."""
    entry = record["entry"]
    check_fields(entry, "entry.", ENTRY)
    preimage = entry_preimage(entry)
    expect(entry["hash"], sha256(preimage).hex(), "entry.hash", "the hash does not fit the entry")
    try:
        check_content(entry["content"])
    except Difference as difference:
        raise difference.within("entry") from None
    tree = open_named(record, "checkpoint", keys, origins)
    if entry["seq"] > tree.size:
        what = "the entry is later than the checkpoint"
        raise Difference(what, "entry.seq", f"at most {tree.size}", entry["seq"])
    root = root_from_inclusion(entry["seq"] - 1, tree.size, merkle_leaf(preimage), decode_hashes(record["proof"]))
    expect(root.hex(), tree.root.hex(), "proof", "the proof leads to another root than the checkpoint's")
    return tree


def verify_proof(data: bytes, trusted: Key) -> dict[str, Any]:
    """An entry is in the journal that a checkpoint speaks of."""
    record = parse_file(data)
    check_fields(record, "", PROOF)
    tree = check_inclusion(record, *reachable_keys(trusted, record["rotations"]))
    entry = record["entry"]
    return {
        "origin": tree.origin,
        "seq": entry["seq"],
        "id": entry["id"],
        "hash": entry["hash"],
        "size": tree.size,
        "root": tree.root.hex(),
        "notes": ["This shows that the entry is in the journal, not that all other entries follow the rules."],
    }


def compare_acts(old: Tree, new: Tree) -> None:
    """What can be told of account acts from two checkpoints alone."""
    if old.acts is None or new.acts is None:
        return
    if new.acts < old.acts:
        raise Difference("the second checkpoint has fewer account acts", "to", f"{old.acts} or more", new.acts)
    if new.acts == old.acts:
        what = f"account history was forked: another hash for {old.acts} account acts"
        expect(new.acts_hash.hex(), old.acts_hash.hex(), "to", what)


def verify_consistency(data: bytes, trusted: Key) -> dict[str, Any]:
    """The journal of the later checkpoint begins with the journal of the earlier one."""
    record = parse_file(data)
    check_fields(record, "", CONSISTENCY)
    keys, origins = reachable_keys(trusted, record["rotations"])
    old, new = (open_named(record, field, keys, origins) for field in ("from", "to"))
    expect(new.origin, old.origin, "to", "the checkpoints are of different journals")
    if new.size < old.size:
        raise Difference("the second checkpoint is shorter than the first", "to", f"{old.size} or more", new.size)
    compare_acts(old, new)
    proof = decode_hashes(record["proof"])
    if old.size in (0, new.size):
        start = new.root if old.size else sha256(b"")
        expect(old.root.hex(), start.hex(), "from", f"history was forked: another root for {old.size} entries")
        expect(len(proof), 0, "proof", "nothing is to be proven here, so the proof must be empty")
    else:
        first, second = roots_from_consistency(old.size, new.size, old.root, proof)
        expect(first.hex(), old.root.hex(), "proof", "the proof leads to another root than the first checkpoint's")
        expect(second.hex(), new.root.hex(), "proof", "the proof leads to another root than the second checkpoint's")
    return {
        "origin": new.origin,
        "from_size": old.size,
        "from_root": old.root.hex(),
        "size": new.size,
        "root": new.root.hex(),
        "notes": [],
    }


# --- What the node owes ---------------------------------------------------------------------------
# A sum tree: a node is a sum and a hash, and a hash above is over both sums and both hashes below. What is owed on an
# account is four leaves, one in each of four trees, whose roots are joined as the leaves of a small tree are.

SumNode = tuple[int, bytes]


class Totals:
    """What a signed note says is owed: after which entries; of each asset how many accounts, how much, which root."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        if len(lines) < 5 or lines[0] != TOTALS_FORMAT:
            what = "the note does not say what the node owes"
            raise Difference(what, "", f"four lines or more, the first {TOTALS_FORMAT}", lines[0][:80])
        self.tree = Tree(lines[1], lines[2], lines[3])
        self.assets: dict[str, tuple[int, int, bytes]] = {}
        for line in lines[4:-1]:
            self.read_asset(line)
        if list(self.assets) != sorted(self.assets):
            raise Difference("the note's assets are not in the order of their names")

    def read_asset(self, line: str) -> None:
        match = TOTAL_LINE.fullmatch(line)
        root = decode_base64(match[4]) if match else None
        if match is None or root is None or not is_sum(match[3]) or match[1] in self.assets:
            what = "a line of the note is malformed"
            raise Difference(what, "", "once for each: ASSET ACCOUNTS TOTAL BASE64-OF-32-BYTES", line[:160])
        self.assets[match[1]] = (int(match[2]), int(match[3]), root)


def sum_bytes(node: SumNode) -> bytes:
    return node[0].to_bytes(16, "big") + node[1]


def join_sums(left: SumNode, right: SumNode) -> SumNode:
    total = left[0] + right[0]
    if total >= SUM_END:
        raise Difference("a sum is too large", "beside", "below 2^127", total)
    return total, sha256(b"\x01" + sum_bytes(left) + sum_bytes(right))


def climb_sums(index: int, size: int, node: SumNode, beside: list[SumNode]) -> SumNode:
    """The root above a leaf; takes what it needs from the front of the list."""
    last = size - 1
    if index > last:
        raise Difference("there is no such leaf", "index", f"at most {last}", index)
    while last:
        if index % 2 or index < last:
            if not beside:
                raise Difference("there are too few sums beside the way to the root", "beside")
            other = beside.pop(0)
            node = join_sums(other, node) if index % 2 else join_sums(node, other)
        index, last = index // 2, last // 2
    return node


def share_leaf(owed: dict[str, Any], number: int) -> SumNode:
    """The leaf that stands for one share of what is owed on an account."""
    share = owed["shares"][number]
    salt = decode_base64(share["salt"])
    if salt is None or len(salt) != 16:
        raise Difference("a salt is malformed", "salt", "base64 of 16 bytes", share["salt"][:80])
    amounts = [int(text).to_bytes(16, "big") for text in (share["amount"], owed["balance"], owed["held"])]
    preimage = b"\x00choir-liability-v1" + salt + bytes([number]) + b"".join(amounts) + owed["account"].encode()
    return int(share["amount"]), sha256(preimage)


def beside_nodes(share: dict[str, Any]) -> list[SumNode]:
    nodes = []
    for number, item in enumerate(share["beside"]):
        check_fields(item, f"beside[{number}].", BESIDE)
        data = decode_base64(item["hash"])
        if data is None or len(data) != 32:
            raise Difference("a hash is malformed", f"beside[{number}].hash", "base64 of 32 bytes", item["hash"][:80])
        nodes.append((int(item["sum"]), data))
    return nodes


def check_share(owed: dict[str, Any], number: int, accounts: int, root: SumNode) -> None:
    share = owed["shares"][number]
    check_fields(share, "", SHARE)
    beside = beside_nodes(share)
    found = climb_sums(share["index"], accounts, share_leaf(owed, number), beside)
    found = climb_sums(number, SHARES, found, beside)
    expect(len(beside), 0, "beside", "there are too many sums beside the way to the root")
    expect(found[0], root[0], "beside", "the sums lead to another total than the signed one")
    expect(found[1].hex(), root[1].hex(), "beside", "the hashes lead to another root than the signed one")


def check_owed(owed: dict[str, Any], totals: Totals) -> tuple[str, int]:
    """What is owed on an account is part of the signed total of its asset; returns the asset and the amount."""
    check_fields(owed, "", OWED)
    match = ACCOUNT.fullmatch(owed["account"])
    if match is None or not owed["account"].startswith(("person:", "agent:")):
        raise Difference("nothing can be owed on this account", "account", "of a person or an agent", owed["account"])
    if match["asset"] not in totals.assets:
        raise Difference("the signed totals have no such asset", "account", ", ".join(totals.assets), match["asset"])
    accounts, total, root = totals.assets[match["asset"]]
    expect(len(owed["shares"]), SHARES, "shares", "there is another number of shares")
    for number in range(SHARES):
        try:
            check_share(owed, number, accounts, (total, root))
        except Difference as difference:
            raise difference.within(f"shares[{number}]") from None
    amount = int(owed["balance"]) + int(owed["held"])
    shared = sum(int(share["amount"]) for share in owed["shares"])
    expect(shared, amount, "shares", "the shares do not add up to what is owed")
    return match["asset"], amount


def verify_liabilities(data: bytes, trusted: Key, other_note: str | None) -> dict[str, Any]:
    """What is owed to somebody is part of the totals that the node signed for a size of its journal."""
    record = parse_file(data)
    check_fields(record, "", LIABILITIES)
    keys, origins = reachable_keys(trusted, record["rotations"])
    journal = open_named(record, "checkpoint", keys, origins)
    totals = open_totals(record["note"], keys, "note")
    for field in ("origin", "size", "root"):
        expect(getattr(totals.tree, field), getattr(journal, field), "note", f"the checkpoint has another {field}")
    if other_note is not None:
        compare_totals(totals, open_totals(other_note, keys, "--note"))
    owed: dict[str, int] = {}
    seen = set()
    for number, item in enumerate(record["accounts"]):
        try:
            asset, amount = check_owed(item, totals)
        except Difference as difference:
            raise difference.within(f"accounts[{number}]") from None
        owed[asset] = owed.get(asset, 0) + amount
        seen.add(item["account"])
    expect(len(seen), len(record["accounts"]), "accounts", "an account is there twice")
    notes = ["Compare the accounts and amounts with what you know: an account that is not in the file is not covered."]
    if not record["accounts"]:
        notes = ["No account is in the file: according to it, nothing is owed to whoever it is for."]
    if other_note is None:
        notes.append("No --note was given: that others are shown the same totals is not shown.")
    return {
        "origin": journal.origin,
        "size": journal.size,
        "root": journal.root.hex(),
        "accounts": [{name: item[name] for name in ("account", "balance", "held")} for item in record["accounts"]],
        "owed": {asset: str(amount) for asset, amount in owed.items()},
        "totals": {asset: str(total) for asset, (_, total, _) in totals.assets.items()},
        "note_given": other_note is not None,
        "notes": notes,
    }


def open_totals(note: str, keys: list[Key], field: str) -> Totals:
    try:
        return Totals(open_note(note, keys))
    except Difference as difference:
        raise difference.within(field) from None


def compare_totals(one: Totals, other: Totals) -> None:
    """Two notes of one journal and size must say the same; of others nothing can be told."""
    expect(other.tree.origin, one.tree.origin, "--note", "your note is of another journal")
    if other.tree.size != one.tree.size:
        raise Difference("your note is of another size, so it tells nothing", "--note", one.tree.size, other.tree.size)
    what = "the node signed two different notes for one size: it shows different people different totals"
    expect((other.tree.root, other.assets), (one.tree.root, one.assets), "--note", what)


# --- Receipts of work -----------------------------------------------------------------------------

PLATFORM = "system:platform/"
VERIFIER_FUND = "system:verifiers/"
DECIMALS = {"CREDIT": 2, "CHIP": 6, "USDC": 6, "SAT": 3, "AID": 6, "USD": 2}


def object_name(value: object) -> str:
    """The name that an object of JSON has: the hash of its canonical form."""
    return "sha256:" + sha256(canonical(value)).hex()


def verify_receipt(data: bytes, trusted: Key) -> dict[str, Any]:
    """A receipt is the node's, its verdict is the one it names, and the journal moved what it says."""
    record = parse_file(data)
    check_fields(record, "", RECEIPT_FILE)
    receipt = record["receipt"]
    check_receipt_shape(receipt)
    expect(record["hash"], object_name(receipt), "hash", "the hash does not fit the receipt")
    keys, origins = reachable_keys(trusted, record["rotations"])
    check_receipt_signature(record, keys)
    check_verdict(record)
    tree = check_payment(record, keys, origins)
    result = {
        name: receipt[name] for name in ("job", "attempt", "payer", "payee", "action", "outcome", "at", "sandbox")
    }
    result.update({name: receipt[name] for name in ("spent", "objects", "verifiers")})
    result.update({name: receipt[name] for name in ("level", "lines") if name in receipt})
    legs = [] if tree is None else record["payment"]["entry"]["content"]["legs"]
    paid = [{"to": leg["to"], "amount": leg["amount"]} for leg in legs if "rest" not in leg]
    result.update({"keys": receipt.get("keys", {}), "receipt": record["hash"], "paid": paid})
    if tree is not None:
        result.update({"origin": tree.origin, "size": tree.size, "root": tree.root.hex()})
        result.update({"seq": record["payment"]["entry"]["seq"]})
    return {**result, "notes": receipt_notes(receipt, paid)}


def receipt_notes(receipt: dict[str, Any], paid: list[dict[str, str]]) -> list[str]:
    notes = [
        "The verdict is the node's word. Its artifact and evidence are named by hash, so that you can look yourself."
    ]
    if not paid:
        notes.append("Nothing was paid.")
    else:
        notes.append("What a dispute moved later is in entries of its own.")
    if "keys" not in receipt:
        notes.append("The receipt is from before receipts named keys and shares.")
    return notes


def check_receipt_shape(receipt: dict[str, Any]) -> None:
    """Fields that are needed must be right; others may be there, as the node has signed whatever is."""
    check_known(receipt, "receipt.", RECEIPT)
    for name in ("budget", "spent"):
        check_fields(receipt[name], f"receipt.{name}.", MONEY)
    for name in receipt["objects"]:
        check_fields({name: receipt["objects"][name]}, "receipt.objects.", {name: NAMED_HASH})
    for number, verifier in enumerate(receipt["verifiers"]):
        check_known(verifier, f"receipt.verifiers[{number}].", VERIFIER)
    for name, fields in (("keys", RECEIPT_KEYS), ("shares", RECEIPT_SHARES_MAYBE)):
        found = receipt.get(name, {})
        if type(found) is not dict:
            raise Difference("a field is not what it must be", f"receipt.{name}", "an object", show(found))
        check_fields(found, f"receipt.{name}.", RECEIPT_SHARES if name == "shares" and found else {}, fields)
    if "level" in receipt:
        check_fields({"level": receipt["level"]}, "receipt.", {"level": LEVEL})
    if "lines" in receipt:
        check_fields({"lines": receipt["lines"]}, "receipt.", {"lines": OBJECT})
        check_fields(receipt["lines"], "receipt.lines.", {"added": COUNTER, "deleted": COUNTER})
    spent, budget = receipt["spent"], receipt["budget"]
    expect(spent["asset"], budget["asset"], "receipt.spent.asset", "it was paid in another asset than the budget's")
    if int(spent["amount"]) > int(budget["amount"]):
        what = "more was spent than the budget"
        raise Difference(what, "receipt.spent.amount", f"at most {budget['amount']}", spent["amount"])
    shares = receipt.get("shares")
    if shares:
        total = str(sum(int(amount) for amount in shares.values()))
        expect(total, spent["amount"], "receipt.shares", "the shares do not add up to what was spent")


def check_known(record: dict[str, Any], path: str, needed: Checks) -> None:
    """The same as `check_fields`, for records that may have more fields than are known here."""
    check_fields({name: value for name, value in record.items() if name in needed}, path, needed)


def check_receipt_signature(record: dict[str, Any], keys: list[Key]) -> None:
    """The node's key signed the receipt's hash; a bad signature in its name condemns it."""
    publics = {key.public.hex() for key in keys}
    digest = bytes.fromhex(record["hash"][len("sha256:") :])
    signed = False
    if len(record["signatures"]) > SIGNATURES_MAX:
        raise Difference("there are too many signatures", "signatures", SIGNATURES_MAX, len(record["signatures"]))
    for number, item in enumerate(record["signatures"]):
        path = f"signatures[{number}]."
        check_known(item, path, SIGNATURE)
        if item["scheme"] != "ed25519" or item["public"] not in publics:
            continue
        try:
            signature = bytes.fromhex(item["signature"])
        except ValueError:
            signature = b""
        if not ed25519_is_valid(bytes.fromhex(item["public"]), digest, signature):
            raise Difference("the signature does not fit the receipt", path + "signature")
        signed = True
    if not signed:
        wanted = " or ".join(key.text for key in keys)
        found = ", ".join(str(item["public"]) for item in record["signatures"])
        raise Difference("the receipt is not signed by the node's key", "signatures", wanted, found[:200])


def check_verdict(record: dict[str, Any]) -> None:
    """The verdict is the one that the receipt names, about the same things, and its evidence is all there."""
    receipt, verdict, evidence = record["receipt"], record["verdict"], record["evidence"]
    objects = receipt["objects"]
    named = objects.get("verdict", "")
    expect(object_name(verdict), named, "verdict", "the verdict is not the one that the receipt names")
    check_known(verdict, "verdict.", VERDICT)
    same = {"job": receipt["job"], "attempt": receipt["attempt"], "sandbox": receipt["sandbox"]}
    same.update({"request": objects.get("request", ""), "artifact": objects.get("artifact", "")})
    for name, value in same.items():
        expect(verdict[name], value, f"verdict.{name}", "the verdict is about something else than the receipt")
    for name in ("level", "lines"):  # of patches; receipts and verdicts from before have neither
        expect(receipt.get(name), verdict.get(name), f"receipt.{name}", f"the verdict has another {name}")
    wanted = set()
    passed = bool(verdict["checks"])
    for number, item in enumerate(verdict["checks"]):
        path = f"verdict.checks[{number}]."
        check_known(
            item, path, {"name": TEXT, "passed": BOOLEAN, **({"evidence": NAMED_HASH} if "evidence" in item else {})}
        )
        passed = passed and item["passed"]
        if "evidence" in item:
            wanted.add(item["evidence"])
    expect(verdict["passed"], passed, "verdict.passed", "the verdict does not follow from its checks")
    right = {"passed": (True,), "failed": (False,), "lost": (True, False)}[receipt["outcome"]]
    if verdict["passed"] not in right:
        raise Difference("the outcome does not follow from the verdict", "receipt.outcome", found=receipt["outcome"])
    for name in sorted(wanted - set(evidence)):
        raise Difference("a piece of evidence is missing", "evidence", name)
    for name, value in evidence.items():
        if name not in wanted:
            raise Difference("there is evidence that no check names", "evidence", found=name[:80])
        expect(object_name(value), name, "evidence", "a piece of evidence does not have its hash")


def check_payment(record: dict[str, Any], keys: list[Key], origins: set[str]) -> Tree | None:
    """The entry that names the receipt paid what it says to whom it says, out of one hold, and is in the journal."""
    receipt, payment = record["receipt"], record["payment"]
    spent = int(receipt["spent"]["amount"])
    if payment is None:
        expect(spent, 0, "payment", "the receipt says that something was paid, and no entry shows it")
        return None
    try:
        check_fields(payment, "", PAYMENT)
        tree = check_inclusion(payment, keys, origins)
        check_legs(payment["entry"]["content"], record["hash"], receipt)
    except Difference as difference:
        if difference.field != "rotations" and not difference.field.startswith("receipt."):
            difference.within("payment")
        raise
    return tree


def check_legs(content: dict[str, Any], name: str, receipt: dict[str, Any]) -> None:
    field = "entry.content."
    expect(content.get("receipt"), name, field + "receipt", "the entry is of another receipt")
    expect(content["kind"], "hold.capture", field + "kind", "the entry is no payment out of a hold")
    expect(content.get("policy"), receipt["policy"], field + "policy", "the entry was made by another policy")
    for wanted in ("job", "attempt"):
        if receipt[wanted] not in content.get("refs", []):
            raise Difference(f"the entry does not name the {wanted}", field + "refs", receipt[wanted])
    paid: dict[str, int] = {}
    for number, leg in enumerate(content["legs"]):
        path = f"{field}legs[{number}]."
        expect(asset_of(leg["from"]), receipt["spent"]["asset"], path + "from", "it was paid in another asset")
        if "rest" in leg:
            check_rest(leg, receipt, path)
            continue
        paid[leg["to"]] = paid.get(leg["to"], 0) + int(leg["amount"])
    what = "the entry moved another amount than the receipt says"
    expect(str(sum(paid.values())), receipt["spent"]["amount"], field + "legs", what)
    check_shares(paid, content.get("refs", []), receipt, field + "legs")


def check_rest(leg: dict[str, Any], receipt: dict[str, Any], path: str) -> None:
    """What is left of the budget goes back to whoever paid; the node's own orders are paid by the platform."""
    if receipt["payer"].startswith(("person:", "agent:")) and not leg["to"].startswith(receipt["payer"] + "/"):
        raise Difference("the rest went to somebody else than the payer", path + "to", receipt["payer"], leg["to"])


def check_shares(paid: dict[str, int], refs: list[str], receipt: dict[str, Any], field: str) -> None:
    """Each side got its share, and nobody else anything; but for what was owed by a dispute, which the entry names."""
    if any(name.startswith("dispute_") for name in refs):
        return
    sides = {"payee": receipt["payee"] + "/", "platform": PLATFORM}
    if "verification" in receipt.get("shares", {}):
        sides["verification"] = VERIFIER_FUND
    for name in paid:
        if not name.startswith(tuple(sides.values())):
            raise Difference("somebody was paid whom the receipt does not name", field, receipt["payee"], name)
    for side, amount in receipt.get("shares", {}).items():
        got = sum(each for name, each in paid.items() if name.startswith(sides[side]))
        expect(got, int(amount), field, f"the {side} got another share than the receipt says")


# --- Command line ---------------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    description, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="choir_verify.py",
        description=description,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add_command(
        commands,
        "export",
        "check a whole ledger export",
        "  choir_verify.py export ledger.jsonl --key 'choir.example+0a1b2c3d+AbCd...'\n"
        "  choir_verify.py export ledger.jsonl --checkpoint checkpoint-of-last-year.txt --json\n"
        "  gunzip -c ledger.jsonl.gz | choir_verify.py export -",
        key_needed=False,
    ).add_argument("--checkpoint", metavar="NOTEFILE", help="a signed checkpoint that you kept from earlier")
    add_command(
        commands,
        "proof",
        "check that one entry is in the ledger",
        "  choir_verify.py proof entry-proof.json --key 'choir.example+0a1b2c3d+AbCd...'",
        key_needed=True,
    )
    add_command(
        commands,
        "consistency",
        "check that a later checkpoint continues an earlier one",
        "  choir_verify.py consistency from-may-to-june.json --key 'choir.example+0a1b2c3d+AbCd...'",
        key_needed=True,
    )
    add_command(
        commands,
        "liabilities",
        "check that what the node owes you is part of the total that it signed",
        "  choir_verify.py liabilities what-i-am-owed.json --key 'choir.example+0a1b2c3d+AbCd...'\n"
        "  choir_verify.py liabilities what-i-am-owed.json --key '...' --note the-note-that-ada-was-shown.txt",
        key_needed=True,
    ).add_argument("--note", metavar="NOTEFILE", help="the signed totals as somebody else was shown them")
    add_command(
        commands,
        "receipt",
        "check what was paid for a piece of work, and for what",
        "  choir_verify.py receipt receipt.json --key 'choir.example+0a1b2c3d+AbCd...'",
        key_needed=True,
    )
    return parser


def add_command(commands: Any, name: str, text: str, examples: str, key_needed: bool) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog="examples:\n" + examples + "\n\nexit codes: 0 verified, 2 wrong usage, 5 a difference was found",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("file", metavar="FILE", help="the file to check, or - for standard input")
    command.add_argument("--key", metavar="VKEY", required=key_needed, help="the node's key that you trust")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return command


def open_file(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(name, "rb")  # noqa: PTH123 - closed by whoever reads it
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Around the reading of a file, which can fail after it was opened."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None


def read_standard_input_once(arguments: argparse.Namespace) -> None:
    for option in ("checkpoint", "note"):
        if arguments.file == "-" and getattr(arguments, option, None) == "-":
            raise UsageError(f"standard input can be read once: give - as FILE or as --{option}, not as both")


def command_for(name: str) -> str | None:
    """The command that checks the kind of file that this one says it is, if it says so."""
    if name == "-":
        return None
    with open_file(name) as stream, readable(name):
        found = NAMED_FORMAT.search(stream.read(FILE_BYTES_MAX))
    return COMMAND_OF.get(found[1].decode("utf-8", "replace")) if found else None


def read_key(text: str | None) -> Key | None:
    try:
        return None if text is None else Key(text.strip())
    except (Difference, UnicodeEncodeError):
        if KEY_SHAPE.fullmatch((text or "").strip()):
            what = "the hash inside this key does not fit its name and bytes, so a letter may be wrong: copy it again"
            raise UsageError(f"--key: {what}") from None
        raise UsageError("--key: this is not a verifier key, which looks like NAME+HASH+BASE64") from None


def read_held(name: str | None, option: str) -> str | None:
    """A note of the auditor's own. What cannot be a note at all is a mistake in the command."""
    if name is None:
        return None
    with open_file(name) as stream, readable(name):
        data = stream.read(NOTE_BYTES_MAX + 1)
    try:
        note = data.decode("utf-8")
        split_note(note)
    except (UnicodeDecodeError, Difference):
        raise UsageError(f"{option}: {name} is not a signed note") from None
    return note


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Carry out the command; returns what was established."""
    read_standard_input_once(arguments)
    key = read_key(arguments.key)
    if arguments.command == "export":
        export = Export(key, read_held(arguments.checkpoint, "--checkpoint"))
        with open_file(arguments.file) as stream, readable(arguments.file):
            export.run(stream)
        return export.result()
    with open_file(arguments.file) as stream, readable(arguments.file):
        data = stream.read(FILE_BYTES_MAX + 1)
    if key is None:
        raise UsageError("--key is needed")
    if arguments.command == "liabilities":
        return verify_liabilities(data, key, read_held(arguments.note, "--note"))
    checks = {"proof": verify_proof, "consistency": verify_consistency, "receipt": verify_receipt}
    return checks[arguments.command](data, key)


def tell_verified(arguments: argparse.Namespace, result: dict[str, Any]) -> str:
    if arguments.json:
        return json.dumps({"verified": True, "command": arguments.command, "file": arguments.file, **result})
    lines = ["VERIFIED  " + say_what(arguments.command, result)]
    if "root" in result:
        lines.append(f"  root  {result['root']}")
    if "key" in result:
        lines.append(f"  key   {result['key']} (key changes: {result['key_changes']})")
    if arguments.command == "liabilities":
        lines += tell_owed(result)
    if arguments.command == "receipt":
        lines += tell_receipt(result)
    return "\n".join(lines + ["  note  " + note for note in result["notes"]])


def say_what(command: str, result: dict[str, Any]) -> str:
    """What was verified, in a sentence."""
    if command == "receipt":
        spent = as_written(result["spent"]["amount"], result["spent"]["asset"])
        return f"{result['action']} {result['outcome']}: {spent} for {result['job']}"
    origin = result["origin"]
    if command == "export":
        acts = count(result["account_acts"], "account act", "account acts")
        return f"{count(result['entries'], 'entry', 'entries')} and {acts} of {origin}, {result['bytes']} bytes"
    entries = count(result["size"], "entry", "entries")
    if command == "proof":
        place = "the only entry" if result["size"] == 1 else f"one of the {entries}"
        return f"entry {result['seq']} ({result['id']}) is {place} of {origin}"
    if command == "consistency":
        first = count(result["from_size"], "entry", "entries")
        begin = "begins" if result["size"] == 1 else "begin"
        return f"the {entries} of {origin} {begin} with the {first} of the first checkpoint"
    if not result["accounts"]:
        return f"the totals after {entries} of {origin}, and nothing else: THE FILE SAYS THAT YOU ARE OWED NOTHING"
    return f"after {entries} {origin} owes you what is below, as part of all that it owes"


def tell_owed(result: dict[str, Any]) -> list[str]:
    """In smallest units; what is held for an account belongs to what is owed on it."""
    accounts = [f"  owed  {each['account']}: {each['balance']}, and held {each['held']}" for each in result["accounts"]]
    part = "  {}  you are owed {} of all the {} that are owed"
    totals = [part.format(asset, result["owed"].get(asset, 0), total) for asset, total in result["totals"].items()]
    return accounts + totals


def as_written(amount: str, asset: str) -> str:
    """An amount of the smallest unit as people write it."""
    places = DECIMALS.get(asset)
    if places is None:  # a receipt without a payment may name anything
        return f"{amount} of the smallest unit of {asset}"
    whole, part = divmod(int(amount), 10**places)
    return f"{whole}.{part:0{places}} {asset}"


def tell_receipt(result: dict[str, Any]) -> list[str]:
    """Who paid whom, with which keys, and what the verdict is about."""
    lines = []
    for side in ("payer", "payee"):
        key = result["keys"].get(side)
        lines.append(f"  {side:<8}  {result[side]}" + (f", key {key}" if key else ""))
    asset = result["spent"]["asset"]
    lines += [f"  paid      {as_written(item['amount'], asset)} to {item['to']}" for item in result["paid"]]
    lines += [f"  {name:<10}  {value}" for name, value in result["objects"].items()]
    lines += [
        f"  verifier  {item['name']} {item['version']}, sandbox {result['sandbox']}" for item in result["verifiers"]
    ]
    if "level" in result:
        lines.append(f"  level     {result['level']}")
    if "lines" in result:
        lines.append(f"  lines     {result['lines']['added']} added, {result['lines']['deleted']} deleted")
    if "seq" in result:
        lines.append(f"  entry     {result['seq']} of {result['size']} in {result['origin']}, at {result['at']}")
    return lines


def tell_difference(arguments: argparse.Namespace, difference: Difference) -> str:
    meant = command_for(arguments.file)
    hint = "" if meant in (None, arguments.command) else f"choir_verify.py {meant}, which is for files of this kind"
    if arguments.json:
        report = {"verified": False, "command": arguments.command, "file": arguments.file}
        return json.dumps({**report, "difference": difference.report(), **({"try": hint} if hint else {})})
    lines = [f"DIFFERENCE  {difference.what}"]
    if difference.line is not None:
        lines.append(f"  where     line {difference.line}, byte {difference.offset}")
    for title, value in (
        ("field", difference.field),
        ("expected", difference.expected),
        ("found", difference.found),
        ("try", hint),
    ):
        if value:
            lines.append(f"  {title:<9} {value}")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    arguments = build_parser().parse_args(words)
    try:
        text, code = tell_verified(arguments, run(arguments)), VERIFIED
    except UsageError as error:
        sys.stderr.write(f"choir_verify.py: {error}\n")
        return USAGE
    except Difference as difference:
        text, code = tell_difference(arguments, difference), DIFFERENT
    sys.stdout.buffer.write((text + "\n").encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
