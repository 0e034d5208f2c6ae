"""Names for people (NIP-19) and private texts (NIP-44), by the published vectors."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.nostr import bech32, nip19, nip44
from choir.nostr.nip19 import Address, BadName, Name, Plain, Pointer, Profile
from choir.nostr.nip44 import BadPrivateText

KEY = bytes.fromhex("3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d")
# https://github.com/nostr-protocol/nips/blob/master/19.md
PROFILE = (
    "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9"
    "ejuumpv34kytnrdaksjlyr9p"
)
RELAYS = ("wss://r.x.com", "wss://djbas.sadkb.com")

keys = st.binary(min_size=32, max_size=32)
relays = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=3).map(tuple)
names = st.one_of(
    st.builds(Plain, st.sampled_from(["npub", "nsec", "note"]), keys),
    st.builds(Profile, keys, relays),
    st.builds(Pointer, keys, relays, st.none() | keys, st.none() | st.integers(0, 65535)),
    st.builds(
        Address, st.text(st.characters(exclude_categories=["Cs"]), max_size=40), keys, st.integers(0, 65535), relays
    ),
)


def test_the_published_names() -> None:
    assert nip19.encode(Plain("npub", KEY)) == "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
    assert nip19.decode(PROFILE) == nip19.decode(f"nostr:{PROFILE}") == Profile(KEY, RELAYS)
    assert nip19.encode(Profile(KEY, RELAYS)) == PROFILE


@given(names)
def test_names_are_read_back_as_they_were(name: Name) -> None:
    assert nip19.decode(nip19.encode(name)) == name


def test_a_secret_is_not_shown() -> None:
    assert KEY.hex() not in repr(Plain("nsec", KEY))
    assert str(KEY) not in repr(Plain("nsec", KEY))


@pytest.mark.parametrize("text", ["", "npub1", PROFILE[:-1], PROFILE.replace("q", "p", 1), "x" * 6000])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        nip19.decode(text)


def test_a_relay_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadName):
        nip19.encode(Profile(KEY, ("wss://" + "x" * 250,)))


@given(st.binary(max_size=80))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for prefix in ("npub", "nprofile", "nevent", "naddr"):
        with contextlib.suppress(Invalid):
            nip19.decode(bech32.encode(prefix, data))


# --- NIP-44 -----------------------------------------------------------------------------------------


def _vectors() -> Any:
    """The published vectors, wherever they are kept; `CHOIR_NIP44_VECTORS` names another file."""
    beside = [above / "shared/vectors/nip44/nip44.vectors.json" for above in Path(__file__).parents]
    named = os.environ.get("CHOIR_NIP44_VECTORS")
    for file in [Path(named)] if named else beside:
        if file.is_file():
            return json.loads(file.read_text())["v2"]
    pytest.skip("the vectors of NIP-44 are not here: name nip44.vectors.json by CHOIR_NIP44_VECTORS")


@pytest.fixture(scope="module")
def vectors() -> Any:
    return _vectors()


h = bytes.fromhex


def test_keys_of_conversations_and_texts(vectors: Any) -> None:
    for one in vectors["valid"]["get_conversation_key"]:
        assert nip44.conversation_key(h(one["sec1"]), h(one["pub2"])).hex() == one["conversation_key"]
    given_ = vectors["valid"]["get_message_keys"]
    for one in given_["keys"]:
        made = nip44.message_keys(h(given_["conversation_key"]), h(one["nonce"]))
        found = (made.cipher_key.hex(), made.cipher_nonce.hex(), made.mac_key.hex())
        assert found == (one["chacha_key"], one["chacha_nonce"], one["hmac_key"])


def test_padding(vectors: Any) -> None:
    assert all(nip44.padded_len(length) == padded for length, padded in vectors["valid"]["calc_padded_len"])


def test_texts(vectors: Any) -> None:
    for one in vectors["valid"]["encrypt_decrypt"]:
        key = h(one["conversation_key"])
        assert nip44.encrypt(key, one["plaintext"], h(one["nonce"])) == one["payload"]
        assert nip44.decrypt(key, one["payload"]) == one["plaintext"]


def test_long_texts(vectors: Any) -> None:
    for one in vectors["valid"]["encrypt_decrypt_long_msg"]:
        text = one["pattern"] * one["repeat"]
        assert hashlib.sha256(text.encode()).hexdigest() == one["plaintext_sha256"]
        payload = nip44.encrypt(h(one["conversation_key"]), text, h(one["nonce"]))
        assert hashlib.sha256(payload.encode()).hexdigest() == one["payload_sha256"]
        assert nip44.decrypt(h(one["conversation_key"]), payload) == text


def test_what_must_be_refused(vectors: Any) -> None:
    for one in vectors["invalid"]["decrypt"]:
        with pytest.raises(BadPrivateText):
            nip44.decrypt(h(one["conversation_key"]), one["payload"])
    for one in vectors["invalid"]["get_conversation_key"]:
        with pytest.raises(BadPrivateText):
            nip44.conversation_key(h(one["sec1"]), h(one["pub2"]))
    for length in vectors["invalid"]["encrypt_msg_lengths"]:
        with pytest.raises(BadPrivateText):
            nip44.encrypt(b"\x01" * 32, "x" * length, b"\x02" * 32)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300), st.integers(0, 10_000))
def test_a_changed_text_is_refused(text: str, place: int) -> None:
    key = b"\x03" * 32
    payload = nip44.encrypt(key, text, b"\x04" * 32)
    assert nip44.decrypt(key, payload) == text
    place %= len(payload)
    changed = payload[:place] + ("A" if payload[place] != "A" else "B") + payload[place + 1 :]
    with pytest.raises(BadPrivateText):
        nip44.decrypt(key, changed)
    with pytest.raises(BadPrivateText):
        nip44.decrypt(b"\x05" * 32, payload)
