"""The session's cookie: its name, how it is read, set and taken away.

Guarantees: a neighbouring host can plant none, since the name is bound to this host and read letter by letter.
"""

from __future__ import annotations

from fastapi import Request, Response

from choir.identity.policy import OperatorsPolicy, PeoplePolicy
from choir.node import Node


def cookie_name(node: Node) -> str:
    """`__Host-` binds a cookie to this host over TLS (RFC 6265bis); plain HTTP is for this machine only."""
    return "__Host-choir_session" if is_https(node) else "choir_session"


def operator_cookie_name(node: Node) -> str:
    """An operator's session is not a person's: one browser may have both, and each counts for its own routes only."""
    return "__Host-choir_operator" if is_https(node) else "choir_operator"


def session_token(request: Request, node: Node) -> str | None:
    """The cookie of a person's session."""
    return _cookie(request, cookie_name(node))


def operator_session_token(request: Request, node: Node) -> str | None:
    """The cookie of an operator's session."""
    return _cookie(request, operator_cookie_name(node))


def _cookie(request: Request, name: str) -> str | None:
    """A cookie, read letter by letter.

    The framework takes white space and quotes off names and values, also the white space of other alphabets. So a
    neighbouring host, which may set no cookie with the prefix, could set one that only becomes it here and so put
    its own session into somebody's browser. Two of the name are none: which one counts would be the neighbour's choice.
    """
    lines = [value.decode("latin-1") for key, value in request.scope["headers"] if key == b"cookie"]
    pairs = [pair.strip(" \t").partition("=") for line in lines for pair in line.split(";")]
    found = {value for key, _, value in pairs if key == name}
    return found.pop() if len(found) == 1 else None


def set_session(response: Response, node: Node, token: str) -> None:
    response.set_cookie(
        cookie_name(node),
        token,
        max_age=node.policy.of(PeoplePolicy).session_s_max,
        path="/",
        secure=is_https(node),
        httponly=True,
        samesite="strict",
    )


def set_operator_session(response: Response, node: Node, token: str) -> None:
    response.set_cookie(
        operator_cookie_name(node),
        token,
        max_age=node.policy.of(OperatorsPolicy).session_s,
        path="/",
        secure=is_https(node),
        httponly=True,
        samesite="strict",
    )


def clear_operator_session(response: Response, node: Node) -> None:
    name, secure = operator_cookie_name(node), is_https(node)
    response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")


def clear_session(response: Response, node: Node) -> None:
    response.delete_cookie(cookie_name(node), path="/", secure=is_https(node), httponly=True, samesite="strict")


def is_https(node: Node) -> bool:
    """Whether browsers reach the node by TLS, as its public address says."""
    return node.passkeys.party.origin.startswith("https:")
