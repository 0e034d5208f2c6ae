"""What can be wrong with an account key."""

from __future__ import annotations

from choir.foundation.errors import NotAllowed, NotFound, Refusal


class KeyNeeded(NotAllowed):
    code = "identity.key_needed"
    sentence = "This needs a request signed by the key itself."
    hint = "Send `Authorization: Nostr <base64 of a NIP-98 event>`."


class UnknownKey(NotFound):
    code = "identity.key_unknown"
    sentence = "There is no account key {key}."


class KeyTaken(Refusal):
    code = "identity.key_taken"
    sentence = "The key {key} is already in use by another account."
