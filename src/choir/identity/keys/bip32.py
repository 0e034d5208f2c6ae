"""BIP-32: secret keys that follow from one seed along a path.

Only what we need: from secret key to secret key. It is small enough to own, fixed for ever by the
standard and held by its test vectors; curve arithmetic is libsecp256k1's (coincurve).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field

import coincurve

from choir.foundation.errors import Invalid

HARDENED = 1 << 31
_PATH = re.compile(r"m(/(0|[1-9][0-9]{0,9})'?)*", re.ASCII)
_SEED_BYTES = range(16, 65)  # BIP-32: 128 to 512 bits


@dataclass(frozen=True, slots=True)
class ExtendedKey:
    """A secret key and the chain code that its children need."""

    secret: bytes = field(repr=False)
    chain_code: bytes = field(repr=False)


def master_key(seed: bytes) -> ExtendedKey:
    """The key at `m`."""
    if len(seed) not in _SEED_BYTES:
        raise Invalid(what="seed", why="it must be 16 to 64 bytes")
    return _checked(hmac.digest(b"Bitcoin seed", seed, hashlib.sha512))


def derive(seed: bytes, path: str) -> ExtendedKey:
    """The key at a path such as m/44'/1237'/0'/0/0."""
    key = master_key(seed)
    for index in parse_path(path):
        key = _child(key, index)
    return key


def parse_path(path: str) -> list[int]:
    """The indexes of a path; an apostrophe hardens a step."""
    if _PATH.fullmatch(path) is None:
        raise Invalid(what="derivation path", why="write it like m/44'/1237'/0'/0/0")
    indexes = []
    for step in path.split("/")[1:]:
        number = int(step.rstrip("'"))
        if number >= HARDENED:
            raise Invalid(what="derivation path", why="a step must be below 2147483648")
        indexes.append(number + HARDENED if step.endswith("'") else number)
    return indexes


def _child(parent: ExtendedKey, index: int) -> ExtendedKey:
    key = coincurve.PrivateKey(parent.secret)
    data = b"\0" + parent.secret if index >= HARDENED else key.public_key.format()
    digest = hmac.digest(parent.chain_code, data + index.to_bytes(4), hashlib.sha512)
    try:
        secret = key.add(digest[:32]).secret
    except ValueError:
        raise _no_such_key() from None
    return ExtendedKey(secret, digest[32:])


def _checked(digest: bytes) -> ExtendedKey:
    try:
        coincurve.PrivateKey(digest[:32])
    except ValueError:
        raise _no_such_key() from None
    return ExtendedKey(digest[:32], digest[32:])


def _no_such_key() -> Invalid:
    return Invalid(what="derivation path", why="there is no key at it (one in 2^127 has none); use the next one")
