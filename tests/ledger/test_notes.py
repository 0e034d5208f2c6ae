"""Signed notes and checkpoints: the standard's own examples, round trips, and hostile input."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import ChoirError
from choir.foundation.signing import Ed25519Signer
from choir.ledger.notes import (
    NOTE_BYTES_MAX,
    Checkpoint,
    CheckpointMalformed,
    KeyRotation,
    NoteForged,
    NoteMalformed,
    NoteTooLarge,
    NoteUnsigned,
    RotationMalformed,
    VerifierKey,
    VerifierKeyMalformed,
    open_note,
    sign_note,
)

NAME = "choir.example/journal"
SIGNER, OTHER = Ed25519Signer(bytes(32)), Ed25519Signer(b"\x01" * 32)
KEY, OTHER_KEY = VerifierKey(NAME, SIGNER.public), VerifierKey(NAME, OTHER.public)
CHECKPOINT = Checkpoint(NAME, 3, b"\x07" * 32)
NOTE = sign_note(CHECKPOINT.text(), NAME, [SIGNER])

# From golang.org/x/mod/sumdb/note, whose format the standard describes.
PUBLIC_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PUBLIC_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PUBLIC_SEED = base64.b64decode("gQoUAtUUbI2E8kQzMPVAgOv5juF9nHT2JS/F1ccoMXM=")
PUBLIC_NOTE = (
    PUBLIC_TEXT + "\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdng"
    "otpRZb6KE6RyyBwJnAM=\n"
)

lines = st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs"]))
texts = st.lists(lines, min_size=1, max_size=6).map(lambda items: "".join(f"{item}\n" for item in items))
names = st.text(st.characters(min_codepoint=0x21, exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1).map(
    lambda name: name.replace("+", "-")
)


def test_the_public_example_opens() -> None:
    key = VerifierKey.parse(PUBLIC_KEY)
    assert str(key) == PUBLIC_KEY
    opened = open_note(PUBLIC_NOTE.encode(), [key])
    assert (opened.text, opened.signers) == (PUBLIC_TEXT, (key,))


def test_the_public_example_is_signed_byte_for_byte() -> None:
    assert sign_note(PUBLIC_TEXT, "PeterNeumann", [Ed25519Signer(PUBLIC_SEED)]) == PUBLIC_NOTE


@given(texts, names, st.sampled_from([[SIGNER], [SIGNER, OTHER]]))
def test_what_was_signed_opens_with_the_keys_that_signed(text: str, name: str, signers: list[Ed25519Signer]) -> None:
    keys = [VerifierKey(name, signer.public) for signer in signers]
    opened = open_note(sign_note(text, name, signers), [VerifierKey(name, bytes(32)), *keys])
    assert (opened.text, opened.signers) == (text, tuple(keys))


@given(names, st.binary(min_size=32, max_size=32))
def test_a_verifier_key_reads_back(name: str, public: bytes) -> None:
    key = VerifierKey(name, public)
    assert VerifierKey.parse(str(key)) == key


@given(st.integers(0, len(NOTE.encode()) - 1), st.integers(1, 255))
def test_a_changed_byte_is_never_accepted(place: int, change: int) -> None:
    data = bytearray(NOTE.encode())
    data[place] ^= change
    with pytest.raises(ChoirError):
        open_note(bytes(data), [KEY])


@given(st.binary(max_size=300))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    for note, keys in [(data, [KEY]), (NOTE.encode() + data + b"\n", [])]:
        with pytest.raises(ChoirError):
            open_note(note, keys)


@given(st.text(max_size=200))
def test_no_text_breaks_a_parser(text: str) -> None:
    parsers: list[Callable[[str], object]] = [VerifierKey.parse, Checkpoint.parse, KeyRotation.parse]
    for parse in parsers:
        with pytest.raises(ChoirError):
            parse(text)


def test_unknown_signatures_are_ignored_and_known_ones_must_verify() -> None:
    both = sign_note("hello\n", NAME, [SIGNER, OTHER])
    assert open_note(both, [KEY]).signers == (KEY,)
    assert open_note(both, [OTHER_KEY, KEY]).signers == (KEY, OTHER_KEY)
    with pytest.raises(NoteUnsigned, match=KEY.hash.hex()):
        open_note(both, [])
    with pytest.raises(NoteUnsigned):
        open_note(both, [VerifierKey("another.name", SIGNER.public)])
    forged = both.replace("hello", "hallo")
    with pytest.raises(NoteForged):
        open_note(forged, [KEY])


def test_one_bad_signature_by_a_known_key_condemns_the_note() -> None:
    good, bad = (sign_note(text, NAME, [signer]) for text, signer in [("a\n", SIGNER), ("b\n", OTHER)])
    mixed = good + bad.removeprefix("b\n\n")
    assert open_note(mixed, [KEY]).signers == (KEY,)
    with pytest.raises(NoteForged):
        open_note(mixed, [KEY, OTHER_KEY])


def test_a_doubled_signature_counts_once() -> None:
    signature = NOTE.removeprefix(CHECKPOINT.text() + "\n")
    assert open_note(NOTE + signature, [KEY]).signers == (KEY,)


def test_a_second_signature_of_the_same_key_must_verify_too() -> None:
    wrong = base64.b64encode(KEY.hash + bytes(64)).decode()
    with pytest.raises(NoteForged):
        open_note(f"{NOTE}— {NAME} {wrong}\n", [KEY])


SIGNATURE = NOTE.removeprefix(CHECKPOINT.text() + "\n")
ENCODED = SIGNATURE.split(" ")[2].strip()


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("", "no blank line"),
        ("\n", "no blank line"),
        ("\n\n", "must have signatures"),
        (f"hello\n{SIGNATURE}", "no blank line"),
        ("hello\n\n", "must have signatures"),
        (NOTE[:-1], "end with a newline"),
        (NOTE + "\n", "must have signatures"),
        (NOTE.replace("\n", "\r\n"), "control character"),
        (NOTE.replace("3", "3\t"), "control character"),
        (NOTE.replace("3", "3\0"), "control character"),
        (NOTE.replace("— ", "- "), "em dash"),
        (NOTE.replace("— ", "—  "), "em dash"),
        (NOTE.replace("— ", "—"), "em dash"),
        (NOTE.replace(f"— {NAME}", f"— {NAME}+x"), "em dash"),
        (NOTE.replace(f"— {NAME}", f"— {NAME}\u2003x"), "em dash"),
        (NOTE.replace(ENCODED, ENCODED + " "), "not base64"),
        (NOTE.replace(ENCODED, ENCODED[:-1]), "not base64"),
        (NOTE.replace(ENCODED, ENCODED[:-2] + "!="), "not base64"),
        (NOTE.replace(ENCODED, ENCODED[:20] + "\u0130" + ENCODED[21:]), "not base64"),
        (NOTE.replace(ENCODED, ""), "not base64"),
        (NOTE.replace(ENCODED, "AAAAAA=="), "not base64"),
        ("a\ud800\n\n" + SIGNATURE, "not UTF-8"),
    ],
)
def test_a_malformed_note_is_refused(note: str, why: str) -> None:
    with pytest.raises(NoteMalformed, match=why):
        open_note(note, [KEY])


def test_base64_with_stray_bits_is_refused() -> None:
    last = ENCODED[-2]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    stray = ENCODED[:-2] + alphabet[alphabet.index(last) ^ 1] + "="
    assert base64.b64decode(stray) == base64.b64decode(ENCODED)
    with pytest.raises(NoteMalformed, match="not base64"):
        open_note(NOTE.replace(ENCODED, stray), [KEY])


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(NoteMalformed, match="UTF-8"):
        open_note(b"\xff\n\n" + SIGNATURE.encode(), [KEY])


def test_a_huge_note_is_refused() -> None:
    with pytest.raises(NoteTooLarge, match=str(NOTE_BYTES_MAX)):
        open_note("a" * NOTE_BYTES_MAX + NOTE, [KEY])
    with pytest.raises(NoteTooLarge, match="signatures"):
        open_note(NOTE + SIGNATURE * 100, [KEY])
    with pytest.raises(NoteTooLarge):
        sign_note("a" * NOTE_BYTES_MAX + "\n", NAME, [SIGNER])


@pytest.mark.parametrize("text", ["", "no newline", "carriage\r\n", "a\ud800\n"])
def test_text_that_no_note_can_hold_is_not_signed(text: str) -> None:
    with pytest.raises(NoteMalformed):
        sign_note(text, NAME, [SIGNER])


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\n", "a\x01", "\ud800"])
def test_a_bad_key_name_is_refused(name: str) -> None:
    with pytest.raises(VerifierKeyMalformed):
        sign_note("text\n", name, [SIGNER])


def test_a_note_needs_a_signer() -> None:
    with pytest.raises(NoteMalformed):
        sign_note("text\n", NAME, [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a+b",
        str(KEY).upper(),
        str(KEY).replace(KEY.hash.hex(), "00000000"),
        str(KEY).replace("choir", "chair"),
        str(KEY)[:-1],
        str(KEY) + "\n",
        f"{NAME}+{KEY.hash.hex()}+" + base64.b64encode(b"\x02" + KEY.public).decode(),
        f"{NAME}+{KEY.hash.hex()}+" + base64.b64encode(b"\x01" + KEY.public + b"x").decode(),
    ],
)
def test_a_malformed_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(VerifierKeyMalformed):
        VerifierKey.parse(text)


def test_a_checkpoint_reads_back_with_or_without_extension_lines() -> None:
    assert CHECKPOINT.text() == f"{NAME}\n3\n{base64.b64encode(CHECKPOINT.root).decode()}\n"
    assert Checkpoint.parse(CHECKPOINT.text()) == CHECKPOINT
    assert Checkpoint.parse(CHECKPOINT.text() + "more\nand more\n") == CHECKPOINT
    assert Checkpoint.parse(open_note(NOTE, [KEY]).text) == CHECKPOINT
    assert Checkpoint.parse(Checkpoint("an origin with spaces", 0, bytes(32)).text()).size == 0


def test_a_checkpoint_says_how_far_the_account_acts_go() -> None:
    checkpoint = Checkpoint(NAME, 3, b"\x07" * 32, 2, b"\x08" * 32)
    line = f"acts 2 {base64.b64encode(checkpoint.acts_hash).decode()}\n"
    assert checkpoint.text() == CHECKPOINT.text() + line
    assert Checkpoint.parse(checkpoint.text()) == checkpoint
    assert Checkpoint.parse(CHECKPOINT.text() + "before\n" + line + "behind\n") == checkpoint
    assert Checkpoint.parse(CHECKPOINT.text() + "acts\nactors 3\n") == CHECKPOINT
    none = Checkpoint(NAME, 0, bytes(32), 0, bytes(32))
    assert Checkpoint.parse(none.text()) == none
    for acts, hash_ in [(None, bytes(32)), (0, b""), (1, b"x"), (-1, bytes(32)), (2**63, bytes(32))]:
        with pytest.raises(CheckpointMalformed):
            Checkpoint(NAME, 3, bytes(32), acts, hash_)


ROOT_LINE = base64.b64encode(bytes(32)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n",
        f"o\n3\n{ROOT_LINE}",
        f"\n3\n{ROOT_LINE}\n",
        f"o\n03\n{ROOT_LINE}\n",
        f"o\n00\n{ROOT_LINE}\n",
        f"o\n+3\n{ROOT_LINE}\n",
        f"o\n-3\n{ROOT_LINE}\n",
        f"o\n 3\n{ROOT_LINE}\n",
        f"o\n3_0\n{ROOT_LINE}\n",
        f"o\n\u0663\n{ROOT_LINE}\n",
        f"o\n9223372036854775808\n{ROOT_LINE}\n",
        f"o\n{'9' * 5000}\n{ROOT_LINE}\n",
        f"o\n3\n{ROOT_LINE[:-4]}\n",
        f"o\n3\n{ROOT_LINE[:-2]}B=\n",
        f"o\n3\n{ROOT_LINE}\n\n",
        f"o\n3\n{ROOT_LINE}\n\nmore\n",
        f"o\n3\n{ROOT_LINE}\nacts \n",
        f"o\n3\n{ROOT_LINE}\nacts 1\n",
        f"o\n3\n{ROOT_LINE}\nacts 01 {ROOT_LINE}\n",
        f"o\n3\n{ROOT_LINE}\nacts -1 {ROOT_LINE}\n",
        f"o\n3\n{ROOT_LINE}\nacts  1 {ROOT_LINE}\n",
        f"o\n3\n{ROOT_LINE}\nacts 1 {ROOT_LINE} \n",
        f"o\n3\n{ROOT_LINE}\nacts 1 {ROOT_LINE[:-4]}\n",
        f"o\n3\n{ROOT_LINE}\nacts 1 {ROOT_LINE}\nacts 1 {ROOT_LINE}\n",
        f"o\n3\n{ROOT_LINE}\nacts 9223372036854775808 {ROOT_LINE}\n",
    ],
)
def test_a_malformed_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(CheckpointMalformed):
        Checkpoint.parse(text)


def test_a_checkpoint_that_cannot_be_written_is_refused() -> None:
    for origin, size, root in [("", 1, bytes(32)), ("a\nb", 1, bytes(32)), ("a", -1, bytes(32)), ("a", 1, b"")]:
        with pytest.raises(CheckpointMalformed):
            Checkpoint(origin, size, root)


def test_a_key_rotation_reads_back() -> None:
    rotation = KeyRotation(NAME, KEY, OTHER_KEY, 3, b"\x07" * 32)
    assert rotation.text().split("\n")[:5] == ["choir-key-rotation/1", NAME, str(KEY), str(OTHER_KEY), "3"]
    note = sign_note(rotation.text(), NAME, [SIGNER, OTHER])
    opened = open_note(note, [KEY, OTHER_KEY])
    assert KeyRotation.parse(opened.text) == rotation
    assert set(opened.signers) == {KEY, OTHER_KEY}
    for text in (CHECKPOINT.text(), rotation.text() + "more\n", rotation.text().replace("/1\n", "/2\n")):
        with pytest.raises(RotationMalformed):
            KeyRotation.parse(text)
