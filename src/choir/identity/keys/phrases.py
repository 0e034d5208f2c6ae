"""Account keys from words: BIP-39 phrases, and the Nostr key of a phrase by NIP-06.

Guarantees: a phrase is checked before it is used; it is never stored, logged or part of an error. The
id of a seed tells which keys come from one phrase, and nothing about the phrase that its keys do not.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from functools import cache
from uuid import UUID

from mnemonic import Mnemonic

from choir.foundation.clock import Entropy
from choir.foundation.errors import Invalid
from choir.identity.keys import bip32
from choir.identity.keys.secret_values import Phrase, SecretKey

ACCOUNT_MAX = bip32.HARDENED - 1
_NOSTR_COIN = 1237  # SLIP-44, NIP-06
_ENTROPY_BYTES = 16  # twelve words
_WORD_COUNTS = (12, 15, 18, 21, 24)


class BadPhrase(Invalid):
    """Words that are not a BIP-39 phrase."""

    code = "identity.bad_phrase"
    sentence = "The recovery phrase is not valid: {why}."
    hint = "Check the order and the spelling; the words are from the English BIP-39 list."


def new_phrase(entropy: Entropy) -> Phrase:
    """Twelve words with 128 bits of randomness."""
    return Phrase(_english().to_mnemonic(entropy.bytes(_ENTROPY_BYTES)))


def parse_phrase(text: str) -> Phrase:
    """A phrase as a person typed it: any case, any spaces between the words."""
    words = unicodedata.normalize("NFKD", text[:1000]).lower().split()
    if len(words) not in _WORD_COUNTS:
        raise BadPhrase(why="there must be 12, 15, 18, 21 or 24 of them")
    known = _known_words()
    for place, word in enumerate(words, 1):
        if word not in known:
            raise BadPhrase(why=f"word {place} is not on the list")
    joined = " ".join(words)
    if not _english().check(joined):
        raise BadPhrase(why="their checksum is wrong")
    return Phrase(joined)


def phrase_seed(phrase: Phrase, passphrase: str = "") -> bytes:
    """The 64 bytes that keys are derived from."""
    return Mnemonic.to_seed(phrase.reveal(), passphrase)


def nostr_path(account: int) -> str:
    """NIP-06."""
    if not 0 <= account <= ACCOUNT_MAX:
        raise Invalid(what="account number", why=f"it must be from 0 to {ACCOUNT_MAX}")
    return f"m/44'/{_NOSTR_COIN}'/{account}'/0/0"


def nostr_secret(seed: bytes, account: int = 0) -> SecretKey:
    """The account's secret key."""
    return SecretKey(bip32.derive(seed, nostr_path(account)).secret)


def seed_id(seed: bytes) -> UUID:
    """The same for all keys of one phrase (a UUIDv8 of a one-way hash of its seed)."""
    number = int.from_bytes(hmac.digest(seed, b"choir-seed-id-v1", hashlib.sha256)[:16])
    return UUID(int=number & ~(0xF << 76) & ~(0b11 << 62) | (0x8 << 76) | (0b10 << 62))


@cache
def _english() -> Mnemonic:
    return Mnemonic("english")


@cache
def _known_words() -> frozenset[str]:
    return frozenset(_english().wordlist)
