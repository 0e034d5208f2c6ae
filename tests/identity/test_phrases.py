"""Words, derivation and the written forms of keys, against the published vectors."""

from __future__ import annotations

import hashlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.clock import SeededEntropy
from choir.foundation.errors import Invalid
from choir.identity.keys import bip32, phrases
from choir.identity.keys.nostr_keys import BadNostrKey, npub, nsec, parse_public, parse_secret, public_of
from choir.identity.keys.phrases import BadPhrase, nostr_secret, parse_phrase, phrase_seed
from choir.identity.keys.secret_values import Phrase
from choir.nostr import bech32
from choir.nostr.bech32 import BadBech32

# https://github.com/nostr-protocol/nips/blob/master/06.md
NIP_06 = [
    (
        "leader monkey parrot ring guide accident before fence cannon height naive bean",
        "7f7ff03d123792d6ac594bfa67bf6d0c0ab55b6b1fdb6249303fe861f1ccba9a",
        "nsec10allq0gjx7fddtzef0ax00mdps9t2kmtrldkyjfs8l5xruwvh2dq0lhhkp",
        "17162c921dc4d2518f9a101db33695df1afb56ab82f5ff3e5da6eec3ca5cd917",
        "npub1zutzeysacnf9rru6zqwmxd54mud0k44tst6l70ja5mhv8jjumytsd2x7nu",
    ),
    (
        "what bleak badge arrange retreat wolf trade produce cricket blur garlic valid"
        " proud rude strong choose busy staff weather area salt hollow arm fade",
        "c15d739894c81a2fcfd3a2df85a0d2c0dbc47a280d092799f144d73d7ae78add",
        "nsec1c9wh8xy5eqdzln7n5t0ctgxjcrdug73gp5yj0x03gntn67h83twssdfhel",
        "d41b22899549e1f3d335a31002cfd382174006e166d3e658e3a5eecdb6463573",
        "npub16sdj9zv4f8sl85e45vgq9n7nsgt5qphpvmf7vk8r5hhvmdjxx4es8rq74h",
    ),
]

# https://github.com/trezor/python-mnemonic/blob/master/vectors.json; the passphrase is TREZOR.
BIP_39 = [
    (
        "00" * 16,
        "abandon " * 11 + "about",
        "c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141"
        "630c7a3c4ab7c81b2f001698e7463b04",
    ),
    (
        "7f" * 16,
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "2e8905819b8723fe2c1d161860e5ee1830318dbf49a83bd451cfb8440c28bd6fa457fe1296106559a3c80937a1c1069b"
        "e3a3a5bd381ee6260e8d9739fce1f607",
    ),
    (
        "ff" * 16,
        "zoo " * 11 + "wrong",
        "ac27495480225222079d7be181583751e86f571027b0497b5b5d11218e0a8a13332572917f0f8e5a589620c6f15b11c6"
        "1dee327651a14c34e18231052e48c069",
    ),
]

# https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki, test vectors 1 and 3
_ONE = "000102030405060708090a0b0c0d0e0f"
_THREE = (
    "4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4ac"
    "ba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be"
)
BIP_32 = [
    (_ONE, "m",
     "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiC"
     "hkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi"),
    (_ONE, "m/0'",
     "xprv9uHRZZhk6KAJC1avXpDAp4MDc3sQKNxDiPvvkX8Br5ngLNv1TxvUxt4c"
     "V1rGL5hj6KCesnDYUhd7oWgT11eZG7XnxHrnYeSvkzY7d2bhkJ7"),
    (_ONE, "m/0'/1",
     "xprv9wTYmMFdV23N2TdNG573QoEsfRrWKQgWeibmLntzniatZvR9BmLnvSxq"
     "u53Kw1UmYPxLgboyZQaXwTCg8MSY3H2EU4pWcQDnRnrVA1xe8fs"),
    (_ONE, "m/0'/1/2'",
     "xprv9z4pot5VBttmtdRTWfWQmoH1taj2axGVzFqSb8C9xaxKymcFzXBDptWm"
     "T7FwuEzG3ryjH4ktypQSAewRiNMjANTtpgP4mLTj34bhnZX7UiM"),
    (_ONE, "m/0'/1/2'/2",
     "xprvA2JDeKCSNNZky6uBCviVfJSKyQ1mDYahRjijr5idH2WwLsEd4Hsb2Tyh"
     "8RfQMuPh7f7RtyzTtdrbdqqsunu5Mm3wDvUAKRHSC34sJ7in334"),
    (_ONE, "m/0'/1/2'/2/1000000000",
     "xprvA41z7zogVVwxVSgdKUHDy1SKmdb533PjDz7J6N6mV6uS3ze1ai8FHa8k"
     "mHScGpWmj4WggLyQjgPie1rFSruoUihUZREPSL39UNdE3BBDu76"),
    (_THREE, "m",
     "xprv9s21ZrQH143K25QhxbucbDDuQ4naNntJRi4KUfWT7xo4EKsHt2QJDu7K"
     "Xp1A3u7Bi1j8ph3EGsZ9Xvz9dGuVrtHHs7pXeTzjuxBrCmmhgC6"),
    (_THREE, "m/0'",
     "xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2"
     "qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L"),
]  # fmt: skip

# https://github.com/bitcoin/bips/blob/master/bip-0173.mediawiki
BECH32_GOOD = [
    "A12UEL5L",
    "a12uel5l",
    "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
    "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
    "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
    "?1ezyfcl",
]
BECH32_BAD = [
    " 1nwldj5", "\x7f1axkwrx", "\x801eym55h",
    "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx",
    "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "de1lg7wt\xff", "A1G7SGD8", "10a06t8", "1qzzfhee",
]  # fmt: skip


def base58_payload(text: str) -> bytes:
    number = 0
    for letter in text:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(letter)
    data = number.to_bytes(82)
    assert hashlib.sha256(hashlib.sha256(data[:-4]).digest()).digest()[:4] == data[-4:]
    return data[:-4]


@pytest.mark.parametrize(("words", "secret", "nsec_text", "public", "npub_text"), NIP_06)
def test_a_phrase_gives_the_key_that_nip_06_says(
    words: str, secret: str, nsec_text: str, public: str, npub_text: str
) -> None:
    key = nostr_secret(phrase_seed(parse_phrase(words)))
    assert key.reveal().hex() == secret
    assert nsec(key) == nsec_text
    assert public_of(key).hex() == public
    assert npub(public_of(key)) == npub_text
    assert parse_secret(nsec_text) == parse_secret(secret) == key
    assert parse_public(npub_text) == parse_public(public) == bytes.fromhex(public)


@pytest.mark.parametrize(("entropy", "words", "seed"), BIP_39)
def test_words_and_seeds_are_those_of_bip_39(entropy: str, words: str, seed: str) -> None:
    class Fixed:
        def bytes(self, count: int) -> bytes:
            assert count == 16
            return bytes.fromhex(entropy)

    assert phrases.new_phrase(Fixed()).reveal() == words
    assert phrase_seed(parse_phrase(words), "TREZOR").hex() == seed


@pytest.mark.parametrize(("seed", "path", "xprv"), BIP_32)
def test_derived_keys_are_those_of_bip_32(seed: str, path: str, xprv: str) -> None:
    payload = base58_payload(xprv)
    key = bip32.derive(bytes.fromhex(seed), path)
    assert (key.chain_code, b"\0" + key.secret) == (payload[13:45], payload[45:78])


def test_accounts_of_one_phrase_differ_and_share_a_seed_id() -> None:
    seed = phrase_seed(parse_phrase(NIP_06[0][0]))
    secrets = {nostr_secret(seed, account).reveal() for account in range(5)}
    assert len(secrets) == 5
    assert phrases.seed_id(seed) == phrases.seed_id(phrase_seed(parse_phrase(NIP_06[0][0].upper())))
    assert phrases.seed_id(seed) != phrases.seed_id(phrase_seed(parse_phrase(NIP_06[1][0])))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "leader",
        NIP_06[0][0] + " bean",
        NIP_06[0][0].replace("bean", "been"),
        NIP_06[0][0].replace("leader monkey", "monkey leader"),
        "abandon " * 12,
        "x" * 100_000,
        "\0 " * 12,
        "é" * 12,
    ],
)
def test_what_is_not_a_phrase_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(BadPhrase) as refusal:
        parse_phrase(text)
    for word in ("leader", "monkey", "been", "abandon"):
        assert word not in str(refusal.value)


@pytest.mark.parametrize("path", ["", "m/", "m/-1", "m/0''", "44'/0", "m/2147483648", "m/01", "m/9999999999999", "m/٣"])
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(Invalid):
        bip32.parse_path(path)


@pytest.mark.parametrize("account", [-1, 2**31])
def test_an_account_beyond_the_standard_is_refused(account: int) -> None:
    with pytest.raises(Invalid):
        phrases.nostr_path(account)


@pytest.mark.parametrize("text", BECH32_GOOD)
def test_good_bech32_is_read(text: str) -> None:
    assert bech32.check(text) == text.lower().rpartition("1")[0]


@pytest.mark.parametrize("text", BECH32_BAD)
def test_bad_bech32_is_refused(text: str) -> None:
    with pytest.raises(BadBech32):
        bech32.check(text)


@given(st.binary(max_size=40))
def test_bech32_comes_back_as_it_went(data: bytes) -> None:
    text = bech32.encode("npub", data)
    assert bech32.decode("npub", text) == data
    assert bech32.decode("npub", text.upper()) == data


@given(st.integers(0, 62), st.sampled_from("qpzry9x8gf2tvdw0s3jn54khce6mua7l"))
def test_one_wrong_letter_is_always_noticed(place: int, letter: str) -> None:
    right = NIP_06[0][4]
    wrong = right[:place] + letter + right[place + 1 :]
    if wrong != right:
        with pytest.raises((BadBech32, BadNostrKey)):
            parse_public(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00" * 32,  # zero
        "ff" * 32,  # beyond the order
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",  # the order itself
        "11" * 31,
        NIP_06[0][4],  # a public key
        NIP_06[0][2][:-1],
        NIP_06[0][2][:-1] + "q",
        bech32.encode("nsec", b"short"),
        "nsec1" + "q" * 1000,
        "\ud800",
    ],
)
def test_what_is_not_a_secret_key_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_secret(text)
    assert len(text) < 8 or text[4:20] not in str(refusal.value)


def test_a_public_key_must_be_a_point() -> None:
    with pytest.raises(BadNostrKey):
        parse_public("ff" * 32)


def test_secrets_do_not_show_themselves() -> None:
    phrase = phrases.new_phrase(SeededEntropy(5))
    seed = phrase_seed(phrase)
    key = nostr_secret(seed)
    shown = f"{phrase} {phrase!r} {key} {key!r} {[phrase, key]} {bip32.master_key(seed)!r}"
    assert not any(word in shown.split() for word in phrase.reveal().split())
    assert key.reveal().hex() not in shown
    assert repr(key.reveal()) not in shown
    with pytest.raises(TypeError):
        pickle.dumps(phrase)
    with pytest.raises(TypeError):
        hash(key)
    assert phrase == Phrase(phrase.reveal())
    assert phrase != Phrase("other")
