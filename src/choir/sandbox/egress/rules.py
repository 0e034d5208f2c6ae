"""Who may be reached, by which address, with which words. Pure.

Guarantees: a host fits a rule only by its whole name; an address that is not public is refused unless the
rule says otherwise, also when it hides inside an IPv6 form; a request that two parsers could read in two
ways is refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from choir.sandbox.egress.model import Egress, EgressRefused, EgressRule

_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\Z")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_HOP_BY_HOP = {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"}
_HOP_BY_HOP |= {b"te", b"trailer", b"transfer-encoding", b"upgrade", b"content-length"}
_TRANSLATION = ipaddress.ip_network("64:ff9b::/96")  # NAT64: an IPv4 address in the last four bytes
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")  # all that is given out; the rest hides IPv4 or is somebody's own
_SPECIAL = (ipaddress.ip_network("192.0.0.0/24"), ipaddress.ip_network("192.88.99.0/24"))  # RFC 6890, RFC 7526
TLS_HANDSHAKE, _TLS_CLIENT_HELLO, _TLS_SERVER_NAME = 22, 1, 0


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request, taken apart."""

    method: str
    target: str
    headers: tuple[tuple[bytes, bytes], ...]
    length: int  # of the body; -1: chunked

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request wants to go."""

    host: str
    port: int
    path: str  # with the query; empty for a tunnel


def parse_head(data: bytes) -> Head:
    """A request head up to and without its empty line."""
    lines = data.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not _TOKEN.match(words[0]) or words[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise EgressRefused(why="the request line cannot be read")
    headers = tuple(_header(line) for line in lines[1:])
    try:
        target = words[1].decode("ascii")
    except UnicodeDecodeError:
        raise EgressRefused(why="the request line cannot be read") from None
    return Head(words[0].decode().upper(), target, headers, _body_length(headers))


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.match(name) or any(byte in b"\r\n\0" for byte in value):
        raise EgressRefused(why="a header cannot be read")
    return name, value.strip(b" \t")


def _body_length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    lengths = [value for name, value in headers if name.lower() == b"content-length"]
    codings = [value.lower() for name, value in headers if name.lower() == b"transfer-encoding"]
    if (lengths and codings) or len(lengths) > 1 or (codings and codings != [b"chunked"]):
        raise EgressRefused(why="the length of the body is said in two ways")
    if codings:
        return -1
    if not lengths:
        return 0
    if not lengths[0].isdigit() or len(lengths[0]) > 15:
        raise EgressRefused(why="the length of the body cannot be read")
    return int(lengths[0])


def destination(head: Head) -> Destination:
    """Host, port and path of a proxy request."""
    if head.method == "CONNECT":
        host, port = split_authority(head.target, None)
        return Destination(host, port, "")
    scheme, separator, rest = head.target.partition("://")
    if not separator or scheme.lower() != "http":
        raise EgressRefused(why="a proxy request must name its host: http://host/path, or CONNECT host:port")
    authority, slash, path = rest.partition("/")
    host, port = split_authority(authority, 80)
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in path):
        raise EgressRefused(why="the path cannot be read")
    return Destination(host, port, slash + path if slash else "/")


def split_authority(authority: str, default: int | None) -> tuple[str, int]:
    """Host and port of a URL; who brings a name and a password is refused."""
    bracketed = re.match(r"\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?\Z", authority)
    plain = re.match(r"([^:@/\[\]]+)(?::(\d{1,5}))?\Z", authority)
    found = bracketed or plain
    if not found or (found[2] is None and default is None):
        raise EgressRefused(why="the host cannot be read")
    port = int(found[2]) if found[2] else default
    assert port is not None
    if not 0 < port < 65536:
        raise EgressRefused(why="the port cannot be read")
    host = found[1].lower().removesuffix(".")
    if not bracketed and not _HOST.match(host):
        raise EgressRefused(why="the host cannot be read")
    return host, port


def fits(pattern: str, host: str) -> bool:
    """Whether a rule's host covers this one: by its whole name, or below `*.`."""
    pattern = pattern.lower().removesuffix(".")
    return host.endswith(pattern[1:]) and len(host) > len(pattern[1:]) if pattern.startswith("*.") else host == pattern


def allow(egress: Egress, head: Head, to: Destination) -> EgressRule:
    """The rule that allows this request, or the refusal."""
    rule = next((rule for rule in egress.rules if fits(rule.host, to.host) and to.port in rule.ports), None)
    if rule is None:
        raise EgressRefused(why=f"no rule names {to.host}:{to.port}")
    if head.method == "CONNECT":
        if not rule.tunnel:
            raise EgressRefused(why=f"the rule for {to.host} allows no tunnel")
        return rule
    if head.method not in rule.methods:
        raise EgressRefused(why=f"the rule for {to.host} does not allow {head.method[:20]}")
    path = to.path.partition("?")[0]
    if not _is_plain(path):
        raise EgressRefused(why="the path is not in plain form")
    if not any(path.startswith(prefix) for prefix in rule.paths):
        raise EgressRefused(why=f"the rule for {to.host} does not allow this path")
    return rule


def _is_plain(path: str) -> bool:
    """Whether no server can read the path as another one: dots as folders, also encoded or with parameters."""
    parts = re.split(r"[/\\]", unquote(path))
    return "\\" not in path and not any(part.partition(";")[0] in (".", "..") for part in parts)


def is_public(text: str) -> bool:
    """Whether an address belongs to the open internet, looked at inside and out."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address.teredo:
            inner = address.teredo[1]
        if address in _TRANSLATION:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        return address in _GLOBAL_V6 and address.is_global
    return address.is_global and not address.is_multicast and not any(address in special for special in _SPECIAL)


def choose_address(addresses: list[str], rule: EgressRule) -> str:
    """The address to connect to. One private address among public ones spoils them all."""
    if not addresses:
        raise EgressRefused(why="the host has no address")
    if not rule.private and not all(is_public(address) for address in addresses):
        raise EgressRefused(why="the host leads to an address that is not public")
    return addresses[0]


def outgoing(head: Head, to: Destination, rule: EgressRule) -> bytes:
    """The request as it is sent on: one connection, our own credential, nothing of the hop before."""
    named = {word.strip().lower() for word in (head.header(b"connection") or b"").split(b",")}
    dropped = _HOP_BY_HOP | named | {b"host"}
    if rule.credential:
        dropped |= {_same(rule.credential.header.encode()), b"accept-encoding"}
    default = 443 if rule.upstream_tls else 80
    port = upstream_port(to, rule)
    shown = f"[{to.host}]" if ":" in to.host else to.host
    lines = [f"{head.method} {to.path} HTTP/1.1".encode()]
    lines.append(f"Host: {shown if port == default else f'{shown}:{port}'}".encode())
    lines += [name + b": " + value for name, value in head.headers if not {name.lower(), _same(name)} & dropped]
    if head.length:
        lines.append(b"Transfer-Encoding: chunked" if head.length < 0 else b"Content-Length: %d" % head.length)
    if rule.credential:
        lines.append(f"{rule.credential.header}: {rule.credential.value}".encode())
        lines.append(b"Accept-Encoding: identity")  # so that a credential sent back would be seen
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def _same(name: bytes) -> bytes:
    """The name of a header as servers of the CGI kind read it, to whom _ and - are one."""
    return name.lower().replace(b"_", b"-")


def upstream_port(to: Destination, rule: EgressRule) -> int:
    return 443 if rule.upstream_tls and to.port == 80 else to.port


def server_name(hello: bytes) -> str | None:
    """The host that a TLS client greets (RFC 8446 §4.1.2, RFC 6066 §3); None if this is no such greeting."""
    try:
        if hello[0] != TLS_HANDSHAKE or hello[5] != _TLS_CLIENT_HELLO:
            return None
        at = 43  # record head, handshake head, version, random
        at += 1 + hello[at]  # session
        at += 2 + int.from_bytes(hello[at : at + 2])  # cipher suites
        at += 1 + hello[at]  # compression
        end = at + 2 + int.from_bytes(hello[at : at + 2])
        at += 2
        while at + 4 <= min(end, len(hello)):
            kind, size = int.from_bytes(hello[at : at + 2]), int.from_bytes(hello[at + 2 : at + 4])
            if kind == _TLS_SERVER_NAME:
                return hello[at + 9 : at + 4 + size].decode("ascii").lower()
            at += 4 + size
    except (IndexError, UnicodeDecodeError):
        return None
    return None
