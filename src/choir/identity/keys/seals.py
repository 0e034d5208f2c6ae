"""Encrypting secrets at rest, under a key that follows from the node's secret.

AES-256-GCM with a random nonce. Guarantees: a sealed secret opens only for the owner, public key and row
it was sealed for; each says by which node key it was sealed, without telling anything about that key;
while the node's key is being replaced, what the former key sealed can still be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from choir.foundation.clock import Entropy
from choir.foundation.errors import Broken, Unavailable
from choir.foundation.signing import NodeSecret

_VERSION = b"\x01"
_NONCE_BYTES = 12


class WrongSeal(Broken):
    """A sealed secret that does not open under the key it names."""

    code = "identity.wrong_seal"
    sentence = "The account key {key} cannot be decrypted: it was changed, or belongs to another row."


class SealingKeyMissing(Unavailable):
    """The node key that a secret was sealed by is not here."""

    code = "identity.sealing_key_missing"
    sentence = "An account key is encrypted under the node key '{sealed_by}', which this node does not have."
    hint = "Put the former node key next to the current one, as node.key.retired-…"


@dataclass(frozen=True, slots=True)
class SealContext:
    """What a sealed secret belongs to; it opens for nothing else."""

    owner: str
    public: bytes
    key: UUID

    def associated_data(self) -> bytes:
        return b"\0".join((b"choir-account-key-v1", self.owner.encode(), self.key.bytes + self.public))


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens under one node secret."""

    name: str  # which node key, for people and for the database
    _cipher: AESGCM = field(repr=False)

    @classmethod
    def of(cls, secret: NodeSecret) -> Sealer:
        # The name is derived beside the key, so it can be published and tells nothing about it.
        return cls(secret.derive("at-rest name").hex()[:16], AESGCM(secret.derive("at-rest")))

    def seal(self, value: bytes, context: SealContext, entropy: Entropy) -> bytes:
        nonce = entropy.bytes(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher.encrypt(nonce, value, context.associated_data())

    def open(self, sealed: bytes, context: SealContext) -> bytes:
        version, nonce, ciphertext = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if version != _VERSION:
            raise WrongSeal(key=context.public.hex()[:16])
        try:
            return self._cipher.decrypt(nonce, ciphertext, context.associated_data())
        except (InvalidTag, ValueError):
            raise WrongSeal(key=context.public.hex()[:16]) from None


class SealerRing:
    """The current sealer, and those before it that may still be needed."""

    def __init__(
        self, load_current: Callable[[], NodeSecret], load_retired: Callable[[], Sequence[NodeSecret]] = lambda: ()
    ) -> None:
        self._load_current = load_current
        self._load_retired = load_retired
        self._known: dict[str, Sealer] = {}

    def current(self) -> Sealer:
        """The sealer for new secrets; the node's secret is read again, for it may have been replaced."""
        return self._remembered(self._load_current())

    def retired(self) -> list[Sealer]:
        """Sealers of former node secrets, as far as they are still kept."""
        return [self._remembered(secret) for secret in self._load_retired()]

    def named(self, name: str) -> Sealer:
        """The sealer that a secret says it was sealed by."""
        if name not in self._known:
            self.current()
            self.retired()
        if name not in self._known:
            raise SealingKeyMissing(sealed_by=name)
        return self._known[name]

    def _remembered(self, secret: NodeSecret) -> Sealer:
        sealer = Sealer.of(secret)
        return self._known.setdefault(sealer.name, sealer)
