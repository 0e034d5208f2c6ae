"""Keys and signatures: Ed25519 for the node, BIP-340 for accounts, HKDF below one node secret.

Guarantees: verification returns nothing or raises `BadSignature`; secrets have no readable `repr`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import coincurve
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from choir.foundation.errors import Invalid

# The y coordinates of the points of small order, as RFC 8032 encodes them without the sign bit, also in
# their non-canonical forms. Under such a "key" one signature can fit many messages.
_SMALL_ORDER = frozenset(
    bytes.fromhex(point)
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)


class BadSignature(Invalid):
    """A signature that does not match its key and message."""

    code = "signature.bad"
    sentence = "The {scheme} signature does not match its key and content."


@dataclass(frozen=True, slots=True)
class NodeSecret:
    """The 32 secret bytes of a node; every other node key is derived from them."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != 32:
            raise Invalid(what="node key", why="it must be 32 bytes, written as 64 hex digits")

    @classmethod
    def parse(cls, text: str) -> NodeSecret:
        """From 64 hex digits, as kept in the environment or a file."""
        try:
            return cls(bytes.fromhex(text.strip()))
        except ValueError:
            raise Invalid(what="node key", why="it must be 64 hex digits") from None

    def derive(self, purpose: str) -> bytes:
        """32 bytes for one purpose; purposes cannot be computed from each other."""
        return HKDF(hashes.SHA256(), 32, salt=b"choir-node-v1", info=purpose.encode()).derive(self.secret)

    def signer(self) -> Ed25519Signer:
        """The key that signs checkpoints, receipts and verdicts."""
        return Ed25519Signer(self.derive("signing"))


class Ed25519Signer:
    """Signs with the node's key; made from a 32-byte seed (RFC 8032)."""

    def __init__(self, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = self._private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)


def verify_ed25519(public: bytes, message: bytes, signature: bytes) -> None:
    """Raise unless the signature is by this key over this message."""
    if len(public) == 32 and bytes([*public[:31], public[31] & 0x7F]) in _SMALL_ORDER:
        raise BadSignature(scheme="ed25519")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise BadSignature(scheme="ed25519") from None


def verify_bip340(public: bytes, digest: bytes, signature: bytes) -> None:
    """Raise unless the Schnorr signature is by this x-only key over this 32-byte digest."""
    try:
        good = len(digest) == 32 and coincurve.PublicKeyXOnly(public).verify(signature, digest)
    except ValueError:
        good = False
    if not good:
        raise BadSignature(scheme="bip340")


def fingerprint(public: bytes) -> str:
    """A short name for a public key in messages and listings."""
    return hashlib.sha256(public).hexdigest()[:16]
