"""Signing for accounts with the keys that this node keeps.

Guarantees: whoever needs a signature names the owner and a digest and never sees a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import coincurve

from choir.foundation.errors import Invalid
from choir.foundation.signing import verify_bip340
from choir.identity.keys.nostr_keys import public_of
from choir.identity.keys.service import AccountKeys
from choir.storage.database import Tx

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Signature:
    """A BIP-340 signature and the key it is by."""

    public: bytes
    signature: bytes


class LocalSigner:
    """Signs with keys that this node keeps."""

    def __init__(self, keys: AccountKeys) -> None:
        self._keys = keys

    def sign(self, tx: Tx, owner: str, digest: bytes) -> Signature:
        return self.sign_all(tx, owner, [digest])[0]

    def sign_all(self, tx: Tx, owner: str, digests: Sequence[bytes]) -> list[Signature]:
        """Sign each of these with the same key."""
        if any(len(digest) != _DIGEST_BYTES for digest in digests):
            raise Invalid(what="digest", why="it must be 32 bytes")
        secret = self._keys.open_current(tx, owner)
        public, private = public_of(secret), coincurve.PrivateKey(secret.reveal())
        return [Signature(public, _checked(public, private, digest)) for digest in digests]


def _checked(public: bytes, private: coincurve.PrivateKey, digest: bytes) -> bytes:
    signature = private.sign_schnorr(digest)
    verify_bip340(public, digest, signature)  # a wrong one, by a fault of the machine, could give the key away
    return signature
