"""Nostr keys as people write them: npub and nsec (NIP-19), or 64 hex digits.

Guarantees: a public key is a point on the curve, a secret key a valid scalar; refusals never quote what
was given, for it may have been a secret.
"""

from __future__ import annotations

import re

import coincurve

from choir.foundation.errors import Invalid
from choir.identity.keys.secret_values import SecretKey
from choir.nostr import bech32

_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)


class BadNostrKey(Invalid):
    """Something that is not a Nostr key."""

    code = "identity.bad_nostr_key"
    sentence = "This is not a {kind} key: {why}."


def npub(public: bytes) -> str:
    """A public key as people see it."""
    return bech32.encode("npub", public)


def nsec(secret: SecretKey) -> str:
    """A secret key as its owner takes it along. Show it once; never log it."""
    return bech32.encode("nsec", secret.reveal())


def parse_public(text: str) -> bytes:
    """From npub1… or 64 hex digits."""
    return checked_public(_raw("npub", text))


def parse_secret(text: str) -> SecretKey:
    """From nsec1… or 64 hex digits."""
    return checked_secret(_raw("nsec", text))


def checked_public(public: bytes) -> bytes:
    """The same bytes, if they are the x coordinate of a point (BIP-340)."""
    try:
        coincurve.PublicKeyXOnly(public)
    except ValueError:
        raise BadNostrKey(kind="public", why="it is not a point on the curve") from None
    return public


def checked_secret(secret: bytes) -> SecretKey:
    """The secret, if it is between 1 and the order of the curve."""
    if len(secret) != 32:
        raise BadNostrKey(kind="secret", why="it must be 32 bytes")
    try:
        coincurve.PrivateKey(secret)
    except ValueError:
        raise BadNostrKey(kind="secret", why="it is out of range") from None
    return SecretKey(secret)


def public_of(secret: SecretKey) -> bytes:
    """The public key of a secret one, x only (BIP-340)."""
    return coincurve.PublicKeyXOnly.from_secret(secret.reveal()).format()


def _raw(prefix: str, text: str) -> bytes:
    text = text.strip()
    if _HEX.fullmatch(text.lower()):
        return bytes.fromhex(text)
    data = bech32.decode(prefix, text)
    if len(data) != 32:
        kind = "public" if prefix == "npub" else "secret"
        raise BadNostrKey(kind=kind, why="it must be 32 bytes")
    return data
