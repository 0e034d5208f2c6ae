"""The pure rules about people: handles, recovery codes, places, rates, the Sybil score, who may vouch.

Guarantee: nothing here reads a clock, a database or chance; the same input gives the same answer.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Sequence
from uuid import UUID

from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import Invalid
from choir.identity.people.model import BadHandle, HandleAlike, NotInGoodStanding, Person
from choir.identity.policy import PeoplePolicy

# Words that would let somebody speak for the node or be taken for a part of it.
_RESERVED = """
    about abuse account accounts admin administrator agent agents anonymous api article articles auth bazaar billing
    choir choir-admin commons contact credit deleted docs economy erased everyone guest health help hold hostmaster
    info job jobs ledger legal login logout me metrics moderator news nobody node none null official operator
    operators owner payments people person policy postmaster privacy root security self settings sign-in sign-up
    signin signup static status support sysadmin system team treasury undefined webmaster well-known world www
"""
RESERVED_HANDLES = frozenset(_RESERVED.split())

# Lower-case ASCII only, so that no letter of another alphabet can stand for one of these.
_HANDLE = re.compile(r"[a-z_][a-z0-9_-]*", re.ASCII)

# What reads alike in common typefaces, written alike (after Unicode's UTS 39; its capital I cannot be in a handle).
# A letter that looks like two becomes those two, so that the order in which a reader joins them does not matter.
_ALIKE = str.maketrans({"0": "o", "1": "l", "m": "rn", "w": "vv", "-": "_"})
_LINE = re.compile("__+")

# scrypt's cost (RFC 7914): about 50 ms and 16 MB a guess. Not policy: another cost would be another hash, and
# every handle retired before would be free again.
_SCRYPT_N, _SCRYPT_R, _SCRYPT_P = 2**14, 8, 1

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = {"I": "1", "L": "1", "O": "0"}
CODE_BYTES = 16
_CODE_CHARS, _CODE_GROUP = 25, 5  # 125 bits, in groups that can be typed

ELSEWHERE = "elsewhere"  # the one place of all callers without a network address


# Handles


def checked_handle(handle: str, policy: PeoplePolicy) -> str:
    """The handle if it can be one, or the refusal that says why not."""
    low, high = policy.handle_chars_min, policy.handle_chars_max
    if not isinstance(handle, str) or not low <= len(handle) <= high:
        raise BadHandle(handle=str(handle)[:40], why=f"it must have {low} to {high} characters")
    if _HANDLE.fullmatch(handle) is None:
        why = "only a to z, 0 to 9, '-' and '_' are allowed, and it cannot start with a digit or '-'"
        raise BadHandle(handle=handle[:40], why=why)
    if handle.strip("_") in RESERVED_HANDLES or handle.replace("_", "-").strip("-") in RESERVED_HANDLES:
        raise BadHandle(handle=handle, why="it is reserved")
    return handle


def skeleton(handle: str) -> str:
    """What two handles that read alike have in common. Migration 14 has the same in SQL."""
    return _LINE.sub("_", handle.translate(_ALIKE))


RESERVED_SKELETONS = frozenset(skeleton(word) for word in RESERVED_HANDLES)


def check_new_handle(handle: str) -> None:
    """Raise if somebody new would be taken for a part of the node. Who has such a handle already keeps it."""
    if skeleton(handle).strip("_") in RESERVED_SKELETONS:
        raise HandleAlike(handle=handle)


def retired_hash(pepper: bytes, handle: str) -> bytes:
    """What stands for the handle of an erased person; slow to compute, because handles can be guessed."""
    return hashlib.scrypt(handle.encode(), salt=pepper, n=_SCRYPT_N, r=_SCRYPT_R, p=_SCRYPT_P, dklen=32)


def text_commitment(pepper: bytes, source: str, text: str) -> str:
    """A keyed hash of what one source wrote; without the node's pepper no guess at the text can be tried."""
    return hmac.digest(pepper, f"choir-text-v1\n{source}\n{text}".encode(), "sha256").hex()


def checked_name(name: str, policy: PeoplePolicy) -> str:
    """A name that a person gives to a passkey."""
    name = name.strip()
    if not 0 < len(name) <= policy.name_chars_max or not name.isprintable():
        raise Invalid(what="name", why=f"it must have 1 to {policy.name_chars_max} printable characters")
    return name


# Recovery codes


def shown_code(random: bytes) -> str:
    """A recovery code as a person writes it down: five groups of Crockford base32."""
    assert len(random) == CODE_BYTES
    number = int.from_bytes(random)
    letters = "".join(_CROCKFORD[number >> 5 * place & 31] for place in range(_CODE_CHARS))
    return "-".join(letters[start : start + _CODE_GROUP] for start in range(0, _CODE_CHARS, _CODE_GROUP))


def code_hash(person: UUID, code: str) -> bytes:
    """What is kept of a code, from however it was typed. Its 125 bits make a slow hash needless."""
    typed = "".join(code.upper().split()).replace("-", "")[: 2 * _CODE_CHARS]
    read = "".join(_READ_AS.get(letter, letter) for letter in typed)
    return hashlib.sha256(b"choir-recovery-v1" + person.bytes + read.encode("utf-8", "replace")).digest()


def among(hash_: bytes, known: Sequence[bytes]) -> bool:
    """Whether the hash is one of the known ones; takes as long whichever it is."""
    found = False
    for each in known:
        found |= hmac.compare_digest(hash_, each)
    return found


# Places and rates


def place_of(address: str, policy: PeoplePolicy) -> str:
    """The network that an address belongs to: what one household or company easily has."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ELSEWHERE
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    bits = policy.place_bits_v4 if ip.version == 4 else policy.place_bits_v6
    return str(ipaddress.ip_network((ip, bits), strict=False))


def place_hash(salt: bytes, place: str) -> str:
    """What is counted instead of a place."""
    return hmac.digest(salt, place.encode(), "sha256").hex()[:32]


def rate(previous: int, current: int, elapsed_us: int, window_us: int) -> int:
    """How often it happened in the last window, taking the one before as evenly spread."""
    return current + previous * (window_us - elapsed_us) // window_us


def rate_wait_us(previous: int, current: int, elapsed_us: int, window_us: int, limit: int) -> int:
    """How long until one more fits, where `current` does not count the one that did not."""
    room = limit - current
    if previous and room > 0:
        fits_at_us = window_us - room * window_us // previous + 1
        if fits_at_us <= window_us:
            return max(fits_at_us - elapsed_us, 1)
    return window_us - elapsed_us + 1


def seconds_up(microseconds: int) -> int:
    """Whole seconds, rounded up."""
    return -(-microseconds // MICROSECONDS)


# Sybil score and vouching


def sybil_score(signs: int, vouches: int, policy: PeoplePolicy) -> int:
    """0: nothing speaks against this person; the maximum: most likely one of many."""
    score = min(signs * policy.sybil_sign_weight, policy.sybil_score_max)
    return max(0, score - vouches * policy.sybil_vouch_weight)


def check_standing(voucher: Person, now_us: int, policy: PeoplePolicy) -> None:
    """Raise unless this person's word counts."""
    if voucher.erased_us is not None or voucher.sybil_score > policy.vouch_score_max:
        raise NotInGoodStanding(why="its Sybil score is too high")
    age_s = policy.vouch_age_s
    if now_us < voucher.created_us + age_s * MICROSECONDS:
        raise NotInGoodStanding(why=f"it signed up less than {age_s} seconds ago")
