"""Who is behind a proxy: the client's address and scheme, believed only from proxies that the operator trusts.

Guarantees: without trusted proxies the headers are ignored; with them the address is the rightmost one in
`X-Forwarded-For` that is not itself a trusted proxy, because everything left of it can be made up by whoever
sent it; a header that cannot be read stops the search at what is known.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.types import Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """The proxies that are trusted."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = tuple(networks)

    def trusts(self, address: str) -> bool:
        if not self._networks:
            return False
        found = parse_address(address)
        return found is not None and self._inside(found)

    def resolve(self, scope: Scope) -> None:
        """Put the client's own address and scheme into the scope of a request."""
        client = scope.get("client")
        if not self._networks or client is None or not self.trusts(client[0]):
            return
        scope["client"] = (self._behind(client[0], _values(scope, b"x-forwarded-for")), 0)
        schemes = _values(scope, b"x-forwarded-proto")
        if schemes and schemes[-1] in ("http", "https"):
            scope["scheme"] = schemes[-1]

    def _behind(self, peer: str, chain: list[str]) -> str:
        for text in reversed(chain):
            found = parse_address(text)
            if found is None:
                break
            peer = str(found)
            if not self._inside(found):
                break
        return peer

    def _inside(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def parse_address(text: str) -> Address | None:
    """An address as headers write it: with or without a port, IPv6 with or without brackets."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        found = ipaddress.ip_address(plain)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _values(scope: Scope, name: bytes) -> list[str]:
    """All values of a header that is a list, in order; several lines are one list."""
    lines = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return [part.strip() for line in lines for part in line.split(",")]
