"""Private texts between two keys (NIP-44, version 2).

Guarantees: only the two keys read a text; what was changed on its way is refused before anything of it is deciphered;
its length is known only roughly. Not promised: who holds one of the keys later reads everything from before.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field

import coincurve
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from choir.foundation.errors import Invalid

VERSION = 2
NONCE_BYTES = 32
TEXT_BYTES_MAX = 65_535  # NIP-44: a length in two bytes
_SALT = b"nip44-v2"
_PAYLOAD_CHARS = range(132, 87_473)  # NIP-44
_MAC_BYTES = 32


class BadPrivateText(Invalid):
    """A text that cannot be made private, or a private one that cannot be read."""

    code = "nostr.bad_private_text"
    sentence = "That private text is not valid: {why}."


@dataclass(frozen=True, slots=True)
class MessageKeys:
    """The keys of one text."""

    cipher_key: bytes = field(repr=False)
    cipher_nonce: bytes = field(repr=False)
    mac_key: bytes = field(repr=False)


def conversation_key(secret: bytes, public: bytes) -> bytes:
    """What two keys share; the same from both sides. Keep it as secret as the key itself."""
    try:
        point = coincurve.PublicKey(b"\x02" + public).multiply(coincurve.PrivateKey(secret).secret)
    except ValueError:
        raise BadPrivateText(why="one of the keys is not a key") from None
    return hmac.digest(_SALT, point.format()[1:], "sha256")


def message_keys(conversation: bytes, nonce: bytes) -> MessageKeys:
    if len(conversation) != 32 or len(nonce) != NONCE_BYTES:
        raise BadPrivateText(why="a key and a nonce have 32 bytes each")
    block, made = b"", b""  # HKDF-expand, RFC 5869
    for counter in (1, 2, 3):
        block = hmac.digest(conversation, block + nonce + bytes([counter]), "sha256")
        made += block
    return MessageKeys(made[:32], made[32:44], made[44:76])


def padded_len(length: int) -> int:
    """How many bytes a text of this length is made to have."""
    if length <= 32:
        return 32
    power = 1 << (length - 1).bit_length()
    chunk = 32 if power <= 256 else power // 8
    return chunk * ((length - 1) // chunk + 1)


def encrypt(conversation: bytes, text: str, nonce: bytes) -> str:
    """A text for the other key. The nonce is 32 random bytes that are never used again."""
    data = text.encode()
    if not 1 <= len(data) <= TEXT_BYTES_MAX:
        raise BadPrivateText(why=f"it must have 1 to {TEXT_BYTES_MAX} bytes")
    keys = message_keys(conversation, nonce)
    padded = len(data).to_bytes(2, "big") + data.ljust(padded_len(len(data)), b"\x00")
    ciphered = _ciphered(keys, padded)
    return base64.b64encode(bytes([VERSION]) + nonce + ciphered + _mac(keys, nonce, ciphered)).decode()


def decrypt(conversation: bytes, payload: str) -> str:
    """The text behind it, or a refusal."""
    if payload.startswith("#"):
        raise BadPrivateText(why="its version is not known")
    if len(payload) not in _PAYLOAD_CHARS:
        raise BadPrivateText(why="it has the wrong length")
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise BadPrivateText(why="it is not base64") from None
    if data[0] != VERSION:
        raise BadPrivateText(why="its version is not known")
    nonce, ciphered, mac = data[1:33], data[33:-_MAC_BYTES], data[-_MAC_BYTES:]
    keys = message_keys(conversation, nonce)
    if not hmac.compare_digest(_mac(keys, nonce, ciphered), mac):
        raise BadPrivateText(why="it is for another key, or was changed")
    return _unpadded(_ciphered(keys, ciphered))


def _unpadded(padded: bytes) -> str:
    length = int.from_bytes(padded[:2], "big")
    data, rest = padded[2 : 2 + length], padded[2 + length :]
    if not length or len(data) != length or len(padded) != 2 + padded_len(length) or any(rest):
        raise BadPrivateText(why="its padding is wrong")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadPrivateText(why="it is not Unicode") from None


def _ciphered(keys: MessageKeys, data: bytes) -> bytes:
    counter = b"\x00" * 4  # the library wants it before the nonce (RFC 8439)
    cipher = Cipher(ChaCha20(keys.cipher_key, counter + keys.cipher_nonce), mode=None).encryptor()
    return cipher.update(data)


def _mac(keys: MessageKeys, nonce: bytes, ciphered: bytes) -> bytes:
    return hmac.new(keys.mac_key, nonce + ciphered, hashlib.sha256).digest()
