"""Who may ask for what: every route says so, and it is looked at before a request's body is parsed.

Guarantees: every route declares one kind of access, and a route that declares none cannot be made; a stranger's
body is never parsed (for a signed request its bytes are hashed, within the size limit); a credential that ended
while the body arrived no longer counts.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from choir.doors.http import openapi
from choir.doors.http.cookies import session_token
from choir.doors.http.credentials import SAFE_METHODS, body_of, key_of, node_of, principal_of
from choir.doors.shapes import NameTwice
from choir.foundation.errors import Invalid, Unauthenticated
from choir.identity.model import (
    NOBODY,
    OperatorNeeded,
    PersonNeeded,
    Principal,
    Role,
    Scope,
    ScopeMissing,
)
from choir.node import Node
from choir.storage.policy import NodePolicy

_KEY_CHARS_MAX = 200
_NAME_CHARS_SHOWN = 60

Check = Callable[[Principal, int], None]  # raises unless the principal may, at this time


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


class PublicAccess(Access):
    """Anyone reads what is public; who has the scope read, and the operator, also what else they may see.

    A credential that may not read shows no more than none at all.
    """

    async def __call__(self, request: Request) -> Principal:
        found: Principal | None = request.state.principal
        reads = found is not None and (found.role is Role.OPERATOR or Scope.READ in found.scopes)
        return found if found is not None and reads else NOBODY


def _check_person(who: Principal, _: int) -> None:
    who.must_be_person()


def _check_fresh(who: Principal, now_us: int) -> None:
    who.must_be_person()
    who.must_be_fresh(now_us)


def _check_any_person(who: Principal, _: int) -> None:
    if who.role is not Role.PERSON:
        raise PersonNeeded


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
PUBLIC = PublicAccess("anyone, as a reader", None, ())
SIGNED_IN = Access("any principal", lambda _who, _now: None, _EVERY_SCHEME)
PERSON = Access("person by session", _check_person, ("session",))
ANY_PERSON = Access("person", _check_any_person, ("token", "nostr", "session"))  # by any credential of theirs
FRESH = Access("person by session, fresh", _check_fresh, ("session",))
OPERATOR = Access("operator", _check_operator, ("operator",))
KEY_HOLDER = Access("holder of a Nostr key", None, ("nostr",))
READER = scoped(Scope.READ)
READER_OR_OPERATOR = scoped_or_operator(Scope.READ)
PERSON_READER = person_scoped(Scope.READ)
BUYER = scoped(Scope.BUY)
RESEARCHER = scoped(Scope.RESEARCH)
PUBLISHER = scoped(Scope.PUBLISH)
CHALLENGER = scoped(Scope.CHALLENGE)
SELLER = scoped(Scope.SELL)
BUYER_OR_SELLER = scoped_any(Scope.BUY, Scope.SELL)
READER_OR_SELLER = scoped_any(Scope.READ, Scope.SELL)  # who sells may see what there is to do
MARKET_READER = scoped_any(Scope.READ, Scope.SELL, or_operator=True)

AnyoneDep = Annotated[Principal | None, Depends(ANYONE)]
PublicDep = Annotated[Principal, Depends(PUBLIC)]
SignedInDep = Annotated[Principal, Depends(SIGNED_IN)]
PersonDep = Annotated[Principal, Depends(PERSON)]
AnyPersonDep = Annotated[Principal, Depends(ANY_PERSON)]
FreshDep = Annotated[Principal, Depends(FRESH)]
OperatorDep = Annotated[Principal, Depends(OPERATOR)]
ReaderDep = Annotated[Principal, Depends(READER)]
ReaderOrOperatorDep = Annotated[Principal, Depends(READER_OR_OPERATOR)]
PersonReaderDep = Annotated[Principal, Depends(PERSON_READER)]
BuyerDep = Annotated[Principal, Depends(BUYER)]
ResearcherDep = Annotated[Principal, Depends(RESEARCHER)]
PublisherDep = Annotated[Principal, Depends(PUBLISHER)]
ChallengerDep = Annotated[Principal, Depends(CHALLENGER)]
SellerDep = Annotated[Principal, Depends(SELLER)]
BuyerOrSellerDep = Annotated[Principal, Depends(BUYER_OR_SELLER)]
ReaderOrSellerDep = Annotated[Principal, Depends(READER_OR_SELLER)]
MarketReaderDep = Annotated[Principal, Depends(MARKET_READER)]


class AccessRoute(APIRoute):
    """Asks who it is before the body is read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        openapi.describe(self, access_of(self).schemes)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        access = access_of(self)

        async def asked(given: Request) -> Response:
            request = _Request(given.scope, given.receive)
            await _admit(request, access)
            await _admit_again(request, access)
            response = await handle(request)
            if "etag" not in response.headers:  # what is about somebody does not stay in a cache
                response.headers.setdefault("Cache-Control", "no-store")
            return response

        return asked


class _Request(Request):
    """The framework's request, which takes JSON in UTF-8 only, and no object that has a name twice."""

    async def json(self) -> Any:
        text = (await self.body()).decode()  # else the parser would guess the encoding
        return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise NameTwice(name=name[:_NAME_CHARS_SHOWN])
    return found


def access_of(route: APIRoute) -> Access:
    """The access that a route declares."""
    found = _accesses(route.dependant)
    if len(found) != 1:
        raise TypeError(f"{route.path} must declare exactly one kind of access, not {len(found)}")
    return found[0]


def _accesses(dependant: Dependant) -> list[Access]:
    found = [dependant.call] if isinstance(dependant.call, Access) else []
    return found + [access for below in dependant.dependencies for access in _accesses(below)]


# Before a route is reached


async def _admit(request: Request, access: Access) -> None:
    """Find out who asks and whether they may; the route finds the answer in the request's state."""
    node = node_of(request)
    request.state.principal = None
    if access is KEY_HOLDER:
        request.state.key = await key_of(request, node)
        return
    principal = await principal_of(request, node, or_nobody=access.check is None, for_operators=access is OPERATOR)
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
    if request.method in SAFE_METHODS or access.check is None:
        return  # nothing is waited for, or nobody in particular is needed
    began = time.monotonic()
    await body_of(request)
    by_signature = request.state.principal.credential == "nostr"  # its body was read before it counted
    if not by_signature and time.monotonic() - began > node_of(request).policy.of(NodePolicy).body_s_trusted:
        await _admit(request, access)


# What else routes ask for; coroutines, because the framework would run plain functions in a thread each


async def current_node(request: Request) -> Node:
    return node_of(request)


def must_be_somebody(who: Principal) -> Principal:
    """Raise unless there is somebody whose own things can be asked for."""
    if who.role is Role.NOBODY:
        raise Unauthenticated
    return who


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
