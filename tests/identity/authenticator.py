"""A software authenticator: real WebAuthn registrations and assertions (ES256), and every way to spoil them.

It stands in for a phone or a security key and nothing else: what it makes is verified by the real code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

ORIGIN = "http://localhost:8420"
RP_ID = "localhost"

UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40
PRESENT_AND_VERIFIED = UP | UV

Answer = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Credential:
    """One discoverable credential."""

    id: bytes
    key: ec.EllipticCurvePrivateKey
    user_handle: bytes
    count: int = 0

    def public_cose(self) -> dict[int, Any]:
        numbers = self.key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}


@dataclass
class Authenticator:
    """Keeps credentials and answers ceremonies; keyword arguments say what to do wrong."""

    credentials: list[Credential] = field(default_factory=list)
    counting: bool = True

    def create(
        self,
        options: dict[str, Any],
        *,
        origin: str = ORIGIN,
        rp_id: str = RP_ID,
        flags: int = PRESENT_AND_VERIFIED,
        challenge: bytes | None = None,
        type_: str = "webauthn.create",
        id_: bytes | None = None,
        claimed_id: bytes | None = None,
        fmt: str = "none",
        cose: dict[int, Any] | None = None,
        client_data: dict[str, Any] | None = None,
    ) -> Answer:
        """Answer `navigator.credentials.create`."""
        made = Credential(
            id_ if id_ is not None else os.urandom(32),
            ec.generate_private_key(ec.SECP256R1()),
            unb64(options["user"]["id"]),
        )
        self.credentials.append(made)
        client = _client_data(type_, challenge or unb64(options["challenge"]), origin, client_data)
        public = cbor2.dumps(made.public_cose() if cose is None else cose)
        attested = bytes(16) + len(made.id).to_bytes(2) + made.id + public
        auth_data = _auth_data(rp_id, flags | AT, made.count) + attested
        return {
            "id": b64(claimed_id or made.id),
            "rawId": b64(claimed_id or made.id),
            "type": "public-key",
            "response": {
                "clientDataJSON": b64(client),
                "attestationObject": b64(cbor2.dumps({"fmt": fmt, "attStmt": {}, "authData": auth_data})),
            },
        }

    def get(
        self,
        options: dict[str, Any],
        *,
        origin: str = ORIGIN,
        rp_id: str = RP_ID,
        flags: int = PRESENT_AND_VERIFIED,
        challenge: bytes | None = None,
        type_: str = "webauthn.get",
        which: int = -1,
        count: int | None = None,
        user_handle: bytes | None = None,
        with_user_handle: bool = True,
        signed_by: Credential | None = None,
        client_data: dict[str, Any] | None = None,
    ) -> Answer:
        """Answer `navigator.credentials.get` with one of the credentials."""
        credential = self.credentials[which]
        if self.counting:
            credential.count += 1
        client = _client_data(type_, challenge or unb64(options["challenge"]), origin, client_data)
        auth_data = _auth_data(rp_id, flags, credential.count if count is None else count)
        key = (signed_by or credential).key
        signature = key.sign(auth_data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": b64(client),
            "authenticatorData": b64(auth_data),
            "signature": b64(signature),
        }
        if with_user_handle:
            response["userHandle"] = b64(user_handle or credential.user_handle)
        return {"id": b64(credential.id), "rawId": b64(credential.id), "type": "public-key", "response": response}


def _client_data(type_: str, challenge: bytes, origin: str, more: dict[str, Any] | None) -> bytes:
    return json.dumps({"type": type_, "challenge": b64(challenge), "origin": origin, **(more or {})}).encode()


def _auth_data(rp_id: str, flags: int, count: int) -> bytes:
    return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + count.to_bytes(4)
