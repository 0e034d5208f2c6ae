"""Signatures: they match their key and message or are refused; secrets do not show."""

from __future__ import annotations

import coincurve
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.foundation.signing import (
    BadSignature,
    Ed25519Signer,
    NodeSecret,
    fingerprint,
    verify_bip340,
    verify_ed25519,
)

SECRET = NodeSecret(b"\x11" * 32)


def test_the_first_public_example_of_ed25519_holds() -> None:
    """RFC 8032, section 7.1, tests 1 and 2."""
    one = Ed25519Signer(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert one.public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert one.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    two = Ed25519Signer(bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
    assert two.sign(b"\x72").hex().startswith("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da")


@given(st.binary(max_size=100), st.integers(0, 511))
def test_any_changed_bit_is_noticed(message: bytes, bit: int) -> None:
    signer = SECRET.signer()
    signature = signer.sign(message)
    verify_ed25519(signer.public, message, signature)
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    for wrong in (
        (signer.public, message, bytes(changed)),
        (signer.public, message + b"x", signature),
        (Ed25519Signer(bytes(32)).public, message, signature),
    ):
        with pytest.raises(BadSignature):
            verify_ed25519(*wrong)


@pytest.mark.parametrize(
    ("public", "signature"), [(b"", bytes(64)), (bytes(31), bytes(64)), (bytes(32), b""), (bytes(32), bytes(65))]
)
def test_keys_and_signatures_of_other_sizes_are_refused(public: bytes, signature: bytes) -> None:
    with pytest.raises(BadSignature):
        verify_ed25519(public, b"m", signature)
    with pytest.raises(BadSignature):
        verify_bip340(public, bytes(32), signature)


def test_a_schnorr_signature_is_checked_over_32_bytes() -> None:
    key = coincurve.PrivateKey(b"\x05" * 32)
    public = coincurve.PublicKeyXOnly.from_secret(key.secret).format()
    signature = key.sign_schnorr(b"\x09" * 32, b"\0" * 32)
    verify_bip340(public, b"\x09" * 32, signature)
    changed = signature[:-1] + bytes([signature[-1] ^ 1])
    for wrong in (
        (public, b"\x08" * 32, signature),
        (public, b"\x09" * 31, signature),
        (public, b"", signature),
        (public, b"\x09" * 32, changed),
        (public, b"\x09" * 32, signature + b"\0"),
        (public, b"\x09" * 32, signature[:-1]),
        (b"\xff" * 32, b"\x09" * 32, signature),
        (b"\x02" + public, b"\x09" * 32, signature),
    ):
        with pytest.raises(BadSignature):
            verify_bip340(*wrong)


def test_a_public_example_of_bip340_holds() -> None:
    """Test vector 0 of the standard."""
    public = bytes.fromhex("F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9")
    signature = bytes.fromhex(
        "E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA8215"
        "25F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0"
    )
    verify_bip340(public, bytes(32), signature)


def test_one_secret_gives_unrelated_keys_for_each_purpose() -> None:
    keys = [SECRET.derive(purpose) for purpose in ("signing", "tokens", "")]
    assert len({SECRET.secret, *keys}) == 4
    assert SECRET.derive("signing") == NodeSecret.parse("11" * 32).derive("signing")
    assert SECRET.signer().public == Ed25519Signer(SECRET.derive("signing")).public


@pytest.mark.parametrize("text", ["", "11" * 31, "11" * 33, "zz" * 32, "1" * 63, "é" * 64])
def test_what_is_not_a_secret_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(Invalid) as found:
        NodeSecret.parse(text)
    assert not text or text not in str(found.value)


def test_secrets_do_not_show() -> None:
    assert "11" * 8 not in repr(SECRET)
    assert "\\x11" not in repr(SECRET)
    assert "11" * 8 not in repr(SECRET.signer())
    assert NodeSecret.parse(f" {'AB' * 32}\n").secret == b"\xab" * 32


def test_a_fingerprint_is_short_and_its_own() -> None:
    assert len(fingerprint(b"a")) == 16
    assert fingerprint(b"a") != fingerprint(b"b")
