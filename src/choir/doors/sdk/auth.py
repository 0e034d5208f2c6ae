"""How a request says who it comes from: a token, or a Nostr key that signs each request (NIP-98).

Guarantees: neither a token nor a key is ever part of a `repr`, an error or an address; each signed
request is signed anew, so that a repeated one is not taken for a replay.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

import httpx

from choir.foundation.errors import Invalid

AHEAD_S = "choir.ahead_s"  # of a request: how far the clock of the node that it goes to is ahead of ours

if TYPE_CHECKING:
    from choir.identity.keys.secret_values import SecretKey


class Bearer(httpx.Auth):
    """An API token or the operator's token."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {header_value(token, 'the token')}"

    def __repr__(self) -> str:
        return "Bearer(hidden)"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._header
        yield request


class NostrKey(httpx.Auth):
    """A secp256k1 key (nsec1… or 64 hex digits) that signs each request.

    `delegation` names the one to act by, where the agent has several. `public_url` is the address that the
    node knows itself by, where that is another than the one it is reached at: it is what gets signed. It signs by
    the time of the node that it is sent to, as far as that has told it: what it signs is good for that address alone.
    """

    requires_request_body = True

    def __init__(
        self,
        secret: str,
        *,
        delegation: str | None = None,
        public_url: str | None = None,
    ) -> None:
        from choir.identity.keys.nostr_keys import parse_secret, public_of

        self._secret: SecretKey = parse_secret(secret)
        self.public = public_of(self._secret)
        self._delegation = delegation
        self._public_url = public_url.rstrip("/") if public_url else None

    def __repr__(self) -> str:
        return f"NostrKey({self.public.hex()[:16]}…)"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._signed(request)
        yield request

    def _address(self, url: httpx.URL) -> str:
        own = url.copy_with(fragment=None)
        return f"{self._public_url}{own.raw_path.decode()}" if self._public_url else str(own)

    def _signed(self, request: httpx.Request) -> str:
        import coincurve

        from choir.identity.credentials.nostr import HTTP_AUTH_KIND
        from choir.nostr.events import NostrEvent, event_id, event_json

        tags = [("u", self._address(request.url)), ("method", request.method), ("nonce", secrets.token_hex(8))]
        if request.content:
            tags.append(("payload", hashlib.sha256(request.content).hexdigest()))
        if self._delegation is not None:
            tags.append(("delegation", self._delegation))
        now = int(time.time() + request.extensions.get(AHEAD_S, 0.0))
        id_ = event_id(self.public, now, HTTP_AUTH_KIND, tuple(tags), "")
        signature = coincurve.PrivateKey(self._secret.reveal()).sign_schnorr(id_)
        event = NostrEvent(id_, self.public, now, HTTP_AUTH_KIND, tuple(tags), "", signature)
        return "Nostr " + base64.b64encode(json.dumps(event_json(event)).encode()).decode()


def header_value(value: str, what: str) -> str:
    """The same text, if it can travel in a header."""
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise Invalid(what=what, why="it must be printable ASCII")
    return value
