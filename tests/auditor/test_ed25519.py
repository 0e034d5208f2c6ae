"""The auditor's own Ed25519: RFC 8032's vectors, agreement with OpenSSL, and no second forms."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.signing import BadSignature, Ed25519Signer, verify_ed25519
from tests.auditor.verifier import verify
from tests.depth import times

RFC_8032 = [  # section 7.1: public key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        "4a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
        "3dca179c138ac17ad9bef1177331a704",
    ),
]

SIGNER = Ed25519Signer(bytes(range(32)))
SEEDS = st.binary(min_size=32, max_size=32)


def is_valid(public: bytes, message: bytes, signature: bytes) -> bool:
    answer: bool = verify.ed25519_is_valid(public, message, signature)
    return answer


def openssl_says(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        verify_ed25519(public, message, signature)
    except BadSignature:
        return False
    return True


def has_small_order(public: bytes) -> bool:
    y = int.from_bytes(public, "little") & (2**255 - 1)
    point = verify.decode_point((y % verify.P).to_bytes(32, "little"))
    if point is None:
        return False
    neutral: bool = verify.encode_point(verify.multiply_point(8, point)) == verify.encode_point(verify.NEUTRAL)
    return neutral


@pytest.mark.parametrize(("public", "message", "signature"), RFC_8032)
def test_the_vectors_of_the_standard(public: str, message: str, signature: str) -> None:
    key, text, signed = bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature)
    assert is_valid(key, text, signed)
    assert not is_valid(key, text + b"x", signed)


@settings(max_examples=times(20, 60), deadline=None)
@given(SEEDS, st.binary(max_size=100), st.integers(0, 96 * 8 - 1))
def test_it_agrees_with_openssl_on_good_and_damaged_signatures(seed: bytes, message: bytes, bit: int) -> None:
    signer = Ed25519Signer(seed)
    good = signer.public + signer.sign(message)
    assert is_valid(good[:32], message, good[32:])
    damaged = bytearray(good)
    damaged[bit // 8] ^= 1 << bit % 8
    key, signature = bytes(damaged[:32]), bytes(damaged[32:])
    assert is_valid(key, message, signature) == openssl_says(key, message, signature) is False


@settings(max_examples=times(20, 60), deadline=None)
@given(SEEDS, st.binary(min_size=64, max_size=64), st.binary(max_size=20))
def test_it_agrees_with_openssl_on_noise(key: bytes, signature: bytes, message: bytes) -> None:
    if has_small_order(key):  # OpenSSL takes these
        assert not is_valid(key, message, signature)
    else:
        assert is_valid(key, message, signature) == openssl_says(key, message, signature)


@settings(max_examples=times(8, 20), deadline=None)
@given(SEEDS, st.binary(max_size=100), st.integers(1, 15))
def test_a_signature_has_no_second_form(seed: bytes, message: bytes, times: int) -> None:
    signer = Ed25519Signer(seed)
    signature = signer.sign(message)
    s = int.from_bytes(signature[32:], "little") + times * verify.L
    if s < 2**256:
        assert not is_valid(signer.public, message, signature[:32] + s.to_bytes(32, "little"))
    assert not is_valid(signer.public, message, signature + b"\0")
    assert not is_valid(signer.public, message, signature[:-1])


def torsion_point() -> tuple[int, int, int, int]:
    """A point of order eight: a random point times L loses all else."""
    for y in range(2, 200):
        point = verify.decode_point(y.to_bytes(32, "little"))
        if point is None:
            continue
        small = verify.multiply_point(verify.L, point)
        if verify.encode_point(verify.multiply_point(4, small)) != verify.encode_point(verify.NEUTRAL):
            x0, y0, z0, t0 = small
            return x0, y0, z0, t0
    raise AssertionError("no point of order eight was found")


def test_the_equation_is_without_cofactor_as_in_openssl() -> None:
    """Keys with a small-order part tell the two equations of RFC 8032 apart."""
    secret, nonce = 12345678901234567890, 98765432109876543210
    public = verify.encode_point(verify.add_points(verify.multiply_point(secret, verify.BASE), torsion_point()))
    r = verify.encode_point(verify.multiply_point(nonce, verify.BASE))
    verdicts = set()
    for number in range(40):
        message = number.to_bytes(2, "big")
        challenge = int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % verify.L
        s = (nonce + challenge * secret) % verify.L
        signature = r + s.to_bytes(32, "little")
        verdict = is_valid(public, message, signature)
        assert verdict == (challenge % 8 == 0) == openssl_says(public, message, signature)
        verdicts.add(verdict)
    assert verdicts == {True, False}


def test_keys_of_small_order_are_refused() -> None:
    """With such a key anybody can sign; OpenSSL alone would take it, so the ledger refuses it before."""
    assert not openssl_says(bytes(32), b"L", bytes(64))
    assert not is_valid(bytes(32), b"L", bytes(64))
    point, small = verify.NEUTRAL, torsion_point()
    for _ in range(8):
        public = verify.encode_point(point)
        for message in (bytes([number]) for number in range(16)):
            assert not is_valid(public, message, verify.encode_point(verify.NEUTRAL) + bytes(32))
        point = verify.add_points(point, small)


def test_points_have_one_encoding() -> None:
    p = verify.P
    for y in (p, p + 1, p + 18, 2**255 - 1):
        assert verify.decode_point(y.to_bytes(32, "little")) is None
    assert verify.decode_point((1 | 1 << 255).to_bytes(32, "little")) is None  # x = 0 with its sign set
    assert verify.decode_point((p - 1 | 1 << 255).to_bytes(32, "little")) is None
    assert verify.decode_point(b"") is None
    assert verify.decode_point((2).to_bytes(32, "little")) is None  # not on the curve
    assert verify.decode_point(SIGNER.public) is not None
    assert verify.encode_point(verify.decode_point(SIGNER.public)) == SIGNER.public


def test_the_base_point_generates_as_many_points_as_it_should() -> None:
    assert verify.encode_point(verify.multiply_point(verify.L, verify.BASE)) == verify.encode_point(verify.NEUTRAL)
