"""From a request to whom it speaks for: an operator's token, an API token, a signature, a browser's session,
an operator's session in a browser.

An `Authorization` header wins over a cookie. A bad one is refused also where none was needed; a cookie whose session
has ended is no credential any more, since nobody chose to send it.

Guarantees: whatever the credential, one `Principal`; what a browser sends from another site is refused before anything
is looked up; operators' tokens are known by their hashes only, and compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import TypeVar

from anyio import to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from choir.doors.http.cookies import operator_session_token, session_token
from choir.foundation.errors import Invalid, Unauthenticated
from choir.identity.credentials.model import BadCredential, CrossSite
from choir.identity.credentials.nostr import SignedRequest
from choir.identity.credentials.operator_sessions import OperatorSessions
from choir.identity.credentials.tokens import TOKEN_PREFIX
from choir.identity.keys.model import KeyNeeded
from choir.identity.model import Principal, Role
from choir.node import Node
from choir.operations.operators import KnownOperator
from choir.storage.database import Tx
from choir.storage.policy import NodePolicy

T = TypeVar("T")
_OPERATOR_PREFIX = "op_"
_FIRST = "operator"  # whose token is in the home folder; further ones have a name behind it
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Operators:
    """Knows the operators' tokens by their hashes only. Further ones are told apart by their names."""

    def __init__(self, token: str, further: Callable[[], Mapping[str, KnownOperator]] = dict) -> None:
        self._digest = hashlib.sha256(token.encode()).digest() if token else b""
        self._further = further  # by name, as they are now

    def since(self, source: str) -> int | None:
        """When somebody became an operator, who is one now; the first one always was."""
        if source == _FIRST:
            return 0
        found = self._further().get(source.removeprefix(f"{_FIRST}:"))
        return None if found is None else found.added_us

    def mark(self, source: str) -> bytes | None:
        """What stands for the token of an operator as it is now, without telling it; None: there is no such operator.

        A session in the browser keeps it, and so ends with the token.
        """
        digest = self._digest if source == _FIRST else None
        if source.startswith(f"{_FIRST}:"):
            found = self._further().get(source.removeprefix(f"{_FIRST}:"))
            digest = None if found is None else found.digest
        return hashlib.sha256(b"choir-operator-mark-v1" + digest).digest() if digest else None

    def recognise(self, given: str) -> Principal | None:
        digest = hashlib.sha256(given.encode()).digest()
        if self._digest and hmac.compare_digest(digest, self._digest):
            return Principal(Role.OPERATOR, _FIRST, credential="operator")
        if not given.startswith(_OPERATOR_PREFIX):
            return None
        for name, known in self._further().items():
            if hmac.compare_digest(digest, known.digest):
                return Principal(Role.OPERATOR, f"{_FIRST}:{name}", credential="operator")
        return None


def node_of(request: Request) -> Node:
    node = request.app.state.node
    assert isinstance(node, Node)
    return node


async def principal_of(
    request: Request, node: Node, *, or_nobody: bool = False, for_operators: bool = False
) -> Principal | None:
    """Whom a request speaks for, None if it has no credential; raises if it has a bad one.

    An operator's cookie counts only where nobody but operators may ask; elsewhere the browser's person asks.
    """
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return await _by_header(request, node, authorization)
    if for_operators and (operator := await _by_operator_cookie(request, node)) is not None:
        return operator
    token = session_token(request, node)
    check_site(request, node, by_cookie=token is not None)
    if token is None:
        return None
    try:
        return await _look_up(node, lambda tx: node.sessions.principal_of(tx, token))
    except BadCredential:
        if or_nobody:
            return None
        raise


async def _by_operator_cookie(request: Request, node: Node) -> Principal | None:
    """The operator in this browser; one whose session has ended is nobody."""
    token = operator_session_token(request, node)
    if token is None:
        return None
    check_site(request, node, by_cookie=True)
    mark = request.app.state.operators.mark
    return await _look_up(node, lambda tx: node.of(OperatorSessions).principal_of(tx, token, mark))


async def _by_header(request: Request, node: Node, authorization: str) -> Principal:
    scheme, _, given = authorization.partition(" ")
    given = given.strip()
    if scheme.lower() == "nostr":
        await _lift_for_the_known(request, node, authorization)
        signed = await _signed_request(request, node)
        return await _look_up(node, lambda tx: node.nostr_auth.principal_of(tx, authorization, signed))
    if scheme.lower() != "bearer":
        raise Unauthenticated
    operators: Operators = request.app.state.operators
    operator = operators.recognise(given)
    if operator is not None:
        return operator
    if not given.startswith(TOKEN_PREFIX):
        raise Unauthenticated
    return await _look_up(node, lambda tx: node.tokens.principal_of(tx, given))


async def _lift_for_the_known(request: Request, node: Node, authorization: str) -> None:
    """A signature is over the body, so that must be read first; of a key that is known here it may be large."""
    told = request.headers.get("content-length", "")
    if not told.isdecimal() or int(told) <= node.policy.of(NodePolicy).stranger_body_bytes_max:
        return
    if await _look_up(node, lambda tx: node.nostr_auth.is_known(tx, authorization)):
        request.state.body_limit.lift()


async def _look_up(node: Node, find: Callable[[Tx], T]) -> T:
    """Ask the database who it is. What that writes, such as a signature used up, stays whatever comes after it."""

    def look() -> T:
        with node.read() as tx:
            return find(tx)

    return await to_thread.run_sync(look)


async def key_of(request: Request, node: Node) -> bytes:
    """The key that signed this request, whoever's it is or is to be."""
    authorization = request.headers.get("authorization", "")
    if authorization.partition(" ")[0].lower() != "nostr":
        if await principal_of(request, node) is None:
            raise Unauthenticated
        raise KeyNeeded
    signed = await _signed_request(request, node)
    event = await _look_up(node, lambda tx: node.nostr_auth.proven(tx, authorization, signed))
    return event.pubkey


async def _signed_request(request: Request, node: Node) -> SignedRequest:
    """The request as its signature must describe it: under the node's own address, whatever it was reached by."""
    body = await body_of(request)
    query = request.scope.get("query_string", b"").decode("latin-1")
    raw_path = request.scope.get("raw_path") or request.scope["path"].encode()
    url = node.settings.public_url + raw_path.decode("latin-1") + (f"?{query}" if query else "")
    return SignedRequest(request.method, url, hashlib.sha256(body).digest() if body else None)


async def body_of(request: Request) -> bytes:
    """The bytes of the body, within the size limit; kept for whoever parses them."""
    try:
        return await request.body()
    except ClientDisconnect:  # nobody's mistake here, and nobody is left to be told
        raise Invalid(what="The request", why="its body did not arrive") from None


def check_site(request: Request, node: Node, *, by_cookie: bool) -> None:
    """Refuse what a page of another site makes a browser send (RFC 6454 origins, Fetch metadata).

    A program without a cookie sends neither header; with a cookie there must be one.
    """
    if request.method in SAFE_METHODS:
        return
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is not None:
        own = origin == node.passkeys.party.origin
    elif site is not None:
        own = site == "same-origin"
    else:
        own = not by_cookie
    if not own:
        raise CrossSite
