"""Who is asking: one principal from whatever credential a request carries, before its body is parsed.

Credentials: an operator's token, an API token, a request signed by a Nostr key (NIP-98), a browser's session.
An `Authorization` header wins over a cookie. A bad one is refused also where none was needed; a cookie whose
session has ended is no credential any more, since nobody chose to send it.

Guarantees: every route declares one kind of access, and a route that declares none cannot be made; a stranger's
body is never parsed (for a signed request its bytes are hashed, within the size limit); a credential that ended
while the body arrived no longer counts; what a browser sends from another site is refused before anything is
looked up.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypeVar

from anyio import to_thread
from fastapi import Depends, Header, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from choir.doors.http import describing
from choir.doors.http.cookies import session_token
from choir.foundation.errors import Invalid, Unauthenticated
from choir.identity.model import (
    BadCredential,
    CrossSite,
    KeyNeeded,
    OperatorNeeded,
    PersonNeeded,
    Principal,
    Role,
    Scope,
    ScopeMissing,
)
from choir.identity.nostr import SignedRequest
from choir.identity.tokens import TOKEN_PREFIX
from choir.node import Node
from choir.storage.database import Tx

T = TypeVar("T")
_KEY_CHARS_MAX = 200
_OPERATOR_PREFIX = "op_"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Check = Callable[[Principal, int], None]  # raises unless the principal may, at this time


class Operators:
    """Knows the operators' tokens by their hashes only. Further ones are told apart by their names."""

    def __init__(self, token: str, further: Callable[[], Mapping[str, bytes]] = dict) -> None:
        self._digest = hashlib.sha256(token.encode()).digest() if token else b""
        self._further = further  # hashes by name, as they are now

    def recognise(self, given: str) -> Principal | None:
        digest = hashlib.sha256(given.encode()).digest()
        if self._digest and hmac.compare_digest(digest, self._digest):
            return Principal(Role.OPERATOR, "operator", credential="operator")
        if not given.startswith(_OPERATOR_PREFIX):
            return None
        for name, known in self._further().items():
            if hmac.compare_digest(digest, known):
                return Principal(Role.OPERATOR, f"operator:{name}", credential="operator")
        return None


# The kinds of access


class Access:
    """One kind of access, as the dependency that a route declares."""

    def __init__(self, name: str, check: Check | None, schemes: tuple[str, ...]) -> None:
        self.name = name
        self.check = check  # None: nobody in particular is needed
        self.schemes = schemes  # which credentials can do, for the description

    async def __call__(self, request: Request) -> Principal | None:
        found: Principal | None = request.state.principal
        return found


def _check_person(who: Principal, _: int) -> None:
    who.must_be_person()


def _check_fresh(who: Principal, now_us: int) -> None:
    who.must_be_person()
    who.must_be_fresh(now_us)


def _check_operator(who: Principal, _: int) -> None:
    if who.role is not Role.OPERATOR:
        raise OperatorNeeded


_EVERY_SCHEME = ("operator", "token", "nostr", "session")


def scoped(scope: Scope) -> Access:
    """Whoever has the scope: a person, or an agent."""
    return Access(f"scope {scope}", lambda who, _: who.must(scope), ("token", "nostr", "session"))


def scoped_or_operator(scope: Scope) -> Access:
    """Whoever has the scope, and the operator, who has none."""

    def check(who: Principal, _: int) -> None:
        if who.role is not Role.OPERATOR:
            who.must(scope)

    return Access(f"scope {scope} or operator", check, ("operator", "token", "nostr", "session"))


def scoped_any(*scopes: Scope, or_operator: bool = False) -> Access:
    """Whoever has one of the scopes; the first one is asked for where none is there."""

    def check(who: Principal, _: int) -> None:
        if not who.scopes & set(scopes) and not (or_operator and who.role is Role.OPERATOR):
            raise ScopeMissing(scope=scopes[0].value)

    name = "scope " + " or ".join(scopes) + (" or operator" if or_operator else "")
    return Access(name, check, _EVERY_SCHEME if or_operator else ("token", "nostr", "session"))


def person_scoped(scope: Scope) -> Access:
    """A person in any way, if the credential has the scope; no agent."""

    def check(who: Principal, _: int) -> None:
        if who.role is not Role.PERSON:
            raise PersonNeeded
        who.must(scope)

    return Access(f"person with scope {scope}", check, ("token", "session"))


ANYONE = Access("anyone", None, ())
SIGNED_IN = Access("any principal", lambda _who, _now: None, _EVERY_SCHEME)
PERSON = Access("person by session", _check_person, ("session",))
FRESH = Access("person by session, fresh", _check_fresh, ("session",))
OPERATOR = Access("operator", _check_operator, ("operator",))
KEY_HOLDER = Access("holder of a Nostr key", None, ("nostr",))
READER = scoped(Scope.READ)
READER_OR_OPERATOR = scoped_or_operator(Scope.READ)
PERSON_READER = person_scoped(Scope.READ)
BUYER = scoped(Scope.BUY)
SELLER = scoped(Scope.SELL)
BUYER_OR_SELLER = scoped_any(Scope.BUY, Scope.SELL)
READER_OR_SELLER = scoped_any(Scope.READ, Scope.SELL)  # who sells may see what there is to do
MARKET_READER = scoped_any(Scope.READ, Scope.SELL, or_operator=True)

AnyoneDep = Annotated[Principal | None, Depends(ANYONE)]
SignedInDep = Annotated[Principal, Depends(SIGNED_IN)]
PersonDep = Annotated[Principal, Depends(PERSON)]
FreshDep = Annotated[Principal, Depends(FRESH)]
OperatorDep = Annotated[Principal, Depends(OPERATOR)]
ReaderDep = Annotated[Principal, Depends(READER)]
ReaderOrOperatorDep = Annotated[Principal, Depends(READER_OR_OPERATOR)]
PersonReaderDep = Annotated[Principal, Depends(PERSON_READER)]
BuyerDep = Annotated[Principal, Depends(BUYER)]
SellerDep = Annotated[Principal, Depends(SELLER)]
BuyerOrSellerDep = Annotated[Principal, Depends(BUYER_OR_SELLER)]
ReaderOrSellerDep = Annotated[Principal, Depends(READER_OR_SELLER)]
MarketReaderDep = Annotated[Principal, Depends(MARKET_READER)]


class AccessRoute(APIRoute):
    """Asks who it is before the body is read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        describing.describe(self, access_of(self).schemes)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        access = access_of(self)

        async def asked(request: Request) -> Response:
            await _admit(request, access)
            await _admit_again(request, access)
            response = await handle(request)
            if "etag" not in response.headers:  # what is about somebody does not stay in a cache
                response.headers.setdefault("Cache-Control", "no-store")
            return response

        return asked


def access_of(route: APIRoute) -> Access:
    """The access that a route declares."""
    found = _accesses(route.dependant)
    if len(found) != 1:
        raise TypeError(f"{route.path} must declare exactly one kind of access, not {len(found)}")
    return found[0]


def _accesses(dependant: Dependant) -> list[Access]:
    found = [dependant.call] if isinstance(dependant.call, Access) else []
    return found + [access for below in dependant.dependencies for access in _accesses(below)]


# From a request to a principal


async def _admit(request: Request, access: Access) -> None:
    """Find out who asks and whether they may; the route finds the answer in the request's state."""
    node = node_of(request)
    request.state.principal = None
    if access is KEY_HOLDER:
        request.state.key = await _proven_key(request, node)
        return
    principal = await principal_of(request, node, or_nobody=access is ANYONE)
    if access.check is not None:
        if principal is None:
            raise Unauthenticated
        access.check(principal, node.clock.now_us())
    request.state.principal = principal
    if principal is not None:
        request.state.body_limit.lift()


async def _admit_again(request: Request, access: Access) -> None:
    """Wait for the body; if that took a while, ask anew: a credential that ended meanwhile does not count any more.

    Else whoever sends slowly could go on for as long as a request may take after a sign-out or a revocation.
    """
    if request.method in _SAFE_METHODS or access.check is None:
        return  # nothing is waited for, or nobody in particular is needed
    began = time.monotonic()
    await _body(request)
    by_signature = request.state.principal.credential == "nostr"  # its body was read before it counted
    if not by_signature and time.monotonic() - began > node_of(request).policy.node.body_s_trusted:
        await _admit(request, access)


async def principal_of(request: Request, node: Node, *, or_nobody: bool = False) -> Principal | None:
    """Whom a request speaks for, None if it has no credential; raises if it has a bad one."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return await _by_header(request, node, authorization)
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
    if not told.isdecimal() or int(told) <= node.policy.node.stranger_body_bytes_max:
        return
    if await _look_up(node, lambda tx: node.nostr_auth.is_known(tx, authorization)):
        request.state.body_limit.lift()


async def _look_up(node: Node, find: Callable[[Tx], T]) -> T:
    """Ask the database who it is. What that writes, such as a signature used up, stays whatever comes after it."""

    def look() -> T:
        with node.database.statements() as tx:
            return find(tx)

    return await to_thread.run_sync(look)


async def _proven_key(request: Request, node: Node) -> bytes:
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
    body = await _body(request)
    query = request.scope.get("query_string", b"").decode("latin-1")
    raw_path = request.scope.get("raw_path") or request.scope["path"].encode()
    url = node.settings.public_url + raw_path.decode("latin-1") + (f"?{query}" if query else "")
    return SignedRequest(request.method, url, hashlib.sha256(body).digest() if body else None)


async def _body(request: Request) -> bytes:
    """The bytes of the body, within the size limit; kept for whoever parses them."""
    try:
        return await request.body()
    except ClientDisconnect:  # nobody's mistake here, and nobody is left to be told
        raise Invalid(what="The request", why="its body did not arrive") from None


def check_site(request: Request, node: Node, *, by_cookie: bool) -> None:
    """Refuse what a page of another site makes a browser send (RFC 6454 origins, Fetch metadata).

    A program without a cookie sends neither header; with a cookie there must be one.
    """
    if request.method in _SAFE_METHODS:
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


# What else routes ask for; coroutines, because the framework would run plain functions in a thread each


async def current_node(request: Request) -> Node:
    return node_of(request)


def node_of(request: Request) -> Node:
    node = request.app.state.node
    assert isinstance(node, Node)
    return node


async def own_session(request: Request, node: Annotated[Node, Depends(current_node)]) -> str:
    """The token of the session that asks; only behind `PersonDep` or `FreshDep`."""
    token = session_token(request, node)
    assert token is not None
    return token


async def caller_address(request: Request) -> str:
    """Where the request comes from, for rate limits."""
    return "" if request.client is None else request.client.host


async def proven_key(request: Request, _: Annotated[None, Depends(KEY_HOLDER)]) -> bytes:
    key = request.state.key
    assert isinstance(key, bytes)
    return key


async def idempotency_key(
    key: Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=_KEY_CHARS_MAX)],
) -> str:
    """The caller's key: the same request with the same key has one effect."""
    return _checked_key(key)


async def optional_key(
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=_KEY_CHARS_MAX,
            description="With it, the same request makes one thing, however often it is sent.",
        ),
    ] = None,
) -> str | None:
    """The caller's key, where one may be given."""
    return None if key is None else _checked_key(key)


def _checked_key(key: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise Invalid(what="Idempotency-Key", why="it must be printable ASCII")
    return key


async def raw_body(request: Request) -> bytes:
    """The body as it came, for routes that take bytes; it was read already, within the size limit."""
    return await request.body()


NodeDep = Annotated[Node, Depends(current_node)]
RawBodyDep = Annotated[bytes, Depends(raw_body)]
SessionDep = Annotated[str, Depends(own_session)]
AddressDep = Annotated[str, Depends(caller_address)]
ProvenKeyDep = Annotated[bytes, Depends(proven_key)]
KeyDep = Annotated[str, Depends(idempotency_key)]
OptionalKeyDep = Annotated[str | None, Depends(optional_key)]
