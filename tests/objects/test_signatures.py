"""Signatures beside objects: verified first, kept once for each key, and not without limit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import coincurve
import pytest

from choir.foundation.canonical import ObjectHash, hash_digest
from choir.foundation.errors import ChoirError
from choir.foundation.signing import BadSignature, Ed25519Signer
from choir.objects.model import Scheme, Signature, TooManySignatures, UnknownObject
from tests.objects.conftest import Store


def ed25519(seed: int, name: ObjectHash) -> tuple[Scheme, bytes, bytes]:
    signer = Ed25519Signer(bytes([seed]) * 32)
    return Scheme.ED25519, signer.public, signer.sign(hash_digest(name))


def bip340(seed: int, name: ObjectHash, aux: bytes = b"") -> tuple[Scheme, bytes, bytes]:
    key = coincurve.PrivateKey(bytes([seed]) * 32)
    public = key.public_key.format(compressed=True)[1:]
    return Scheme.BIP340, public, key.sign_schnorr(hash_digest(name), aux)


def add(store: Store, name: ObjectHash, signed: tuple[Scheme, bytes, bytes]) -> Signature:
    with store.database.unit_of_work() as tx:
        return store.objects.add_signature(tx, name, *signed)


def listed(store: Store, name: ObjectHash) -> list[Signature]:
    with store.database.unit_of_work() as tx:
        return store.objects.signatures(tx, name)


def test_both_schemes_are_kept_and_listed_oldest_first(store: Store) -> None:
    name = store.put_atom({"claim": 1}).hash
    first = add(store, name, bip340(1, name))
    store.clock.advance(1)
    second = add(store, name, ed25519(2, name))
    assert listed(store, name) == [first, second]
    assert second.at_us == store.clock.now_us()


def test_signing_again_changes_nothing(store: Store) -> None:
    name = store.put_atom({"claim": 1}).hash
    first = add(store, name, bip340(1, name))
    store.clock.advance(1)
    other = bip340(1, name, aux=b"\x01" * 32)  # also valid: this scheme takes randomness
    assert other[2] != first.signature
    assert add(store, name, bip340(1, name)) == add(store, name, other) == first
    assert listed(store, name) == [first]


def test_a_bad_signature_is_refused(store: Store) -> None:
    name, other = store.put_atom(1).hash, store.put_atom(2).hash
    for make in (ed25519, bip340):
        scheme, public, signature = make(1, name)
        bad = [
            make(1, other),
            (scheme, make(2, name)[1], signature),
            (scheme, public, signature[:-1] + bytes([signature[-1] ^ 1])),
            (scheme, public, signature[:63]),
            (scheme, public, b""),
            (scheme, public[:31], signature),
            (scheme, b"", signature),
            (scheme, b"\xff" * 32, signature),
            (scheme, public + b"\0", signature),
            ({Scheme.ED25519: Scheme.BIP340, Scheme.BIP340: Scheme.ED25519}[scheme], public, signature),
        ]
        for signed in bad:
            with pytest.raises(BadSignature):
                add(store, name, signed)
    assert listed(store, name) == []


def test_a_good_signature_of_nothing_is_refused(store: Store) -> None:
    nowhere = ObjectHash("sha256:" + "00" * 32)
    with pytest.raises(UnknownObject):
        add(store, nowhere, ed25519(1, nowhere))


def test_the_limit_holds_also_when_all_sign_at_once(store: Store) -> None:
    small = store.with_policy(signatures_max=5)
    name = small.put_atom(1).hash

    def sign(seed: int) -> ChoirError | None:
        try:
            add(small, name, ed25519(seed, name))
        except ChoirError as error:
            return error
        return None

    with ThreadPoolExecutor(1) as pool, small.database.unit_of_work() as tx:
        for seed in (17, 18, 19, 20):
            small.objects.add_signature(tx, name, *ed25519(seed, name))
        waits = pool.submit(sign, 21)
        with pytest.raises(TimeoutError):
            waits.result(timeout=0.2)
        small.objects.add_signature(tx, name, *ed25519(22, name))
        tx.connection.commit()
        assert isinstance(waits.result(), TooManySignatures)

    name = small.put_atom(2).hash
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(sign, range(1, 17)))
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) == 11
    assert {type(answer) for answer in refused} == {TooManySignatures}
    signed = listed(small, name)
    assert len(signed) == 5
    kept = next(seed for seed in range(1, 17) if Ed25519Signer(bytes([seed]) * 32).public == signed[0].public)
    assert add(small, name, ed25519(kept, name)) == signed[0]  # who is in may say it again


def test_signatures_go_with_their_object(store: Store) -> None:
    name = store.put_atom(1).hash
    add(store, name, ed25519(1, name))
    store.wait()
    assert store.collect().objects == 1
    assert store.count("object_signatures") == 0
