"""The proxy of one run: HTTP and CONNECT over a Unix socket, by the rules and within the limits.

Guarantees: every request that reaches the socket is recorded, allowed or not; a host is resolved once and
the connection goes to that very address; a payload can hold only so many connections, bytes and seconds; a
credential that comes back in an answer ends the answer.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from choir.foundation.policy import SandboxPolicy
from choir.sandbox.egress import rules
from choir.sandbox.egress.model import Egress, EgressFailed, EgressRecord, EgressRefused, EgressRule

_PIECE = 65_536
_REFUSALS_RECORDED_MAX = 1_000
_HELLO_S_MAX = 10


class _Cut(Exception):
    """A limit was reached in the middle of a transfer."""


@dataclass(slots=True)
class _Way:
    """One request on its way."""

    record: EgressRecord
    began: float
    rule: EgressRule | None = None


class Proxy:
    """Serves the connections of one run."""

    def __init__(self, egress: Egress, token: str, policy: SandboxPolicy, now_us: Callable[[], int]) -> None:
        self.egress = egress
        self.policy = policy
        self.now_us = now_us
        self.records: list[EgressRecord] = []
        self.unrecorded = 0
        self._secret = base64.b64encode(f"job:{token}".encode())
        self._requests = 0
        self._open = 0
        self._requests_max = _least(egress.requests_max, policy.egress_requests_max)
        self._up_max = _least(egress.request_bytes_max, policy.egress_request_bytes_max)
        self._down_max = _least(egress.response_bytes_max, policy.egress_response_bytes_max)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        self._open += 1
        way = _Way(EgressRecord(self.now_us(), "", "", 0, "", "failed"), time.monotonic())
        try:
            async with asyncio.timeout(None) as watch:
                watch.reschedule(asyncio.get_running_loop().time() + self.policy.egress_idle_s_max)
                await self._handle(reader, writer, way, watch)
        except EgressRefused as refusal:
            await self._answer(writer, way, 403, "refused", str(refusal))
        except _Cut as cut:
            self._note(way, "cut", str(cut))
        except TimeoutError:  # before OSError, which it is a kind of
            self._note(way, "cut", "silent for too long")
        except (EgressFailed, OSError, EOFError, ValueError) as error:
            await self._answer(writer, way, 502, "failed", str(error)[:200])
        except Exception as error:  # whatever it is, the request was made and belongs in the record
            await self._answer(writer, way, 502, "failed", f"unexpected {type(error).__name__}")
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _handle(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        if self._open > self.policy.egress_connections_max:
            raise EgressRefused(why="too many connections at once")
        head = rules.parse_head(await self._read_head(reader))
        to = rules.destination(head)
        shown = to.path.partition("?")[0][:200]
        way.record = replace(way.record, method=head.method[:20], host=to.host, port=to.port, path=shown)
        if not self._knows(head):
            await self._answer(writer, way, 407, "refused", "no valid proxy credential")
            return
        self._requests += 1
        if self._requests > self._requests_max:
            raise EgressRefused(why="too many requests")
        way.rule = rule = rules.allow(self.egress, head, to)
        if head.length > self._up_max:
            raise EgressRefused(why="the request is too large")
        address = await self._resolve(to, rule)
        way.record = replace(way.record, address=address, credential=rule.credential is not None)
        if head.method == "CONNECT":
            await self._tunnel(reader, writer, way, to, watch)
        else:
            await self._forward(reader, writer, way, head, to, watch)

    # --- plain HTTP ---

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: _Way,
        head: rules.Head,
        to: rules.Destination,
        watch: asyncio.Timeout,
    ) -> None:
        rule = way.rule
        assert rule is not None
        up_reader, up_writer = await self._connect(
            way, rules.upstream_port(to, rule), to.host if rule.upstream_tls else None
        )
        try:
            if head.header(b"expect"):
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            up_writer.write(rules.outgoing(head, to, rule))
            body = asyncio.create_task(self._send_body(reader, up_writer, head, way, watch))
            answer = asyncio.create_task(self._relay_answer(up_reader, writer, way, watch))
            try:
                done, _ = await asyncio.wait({body, answer}, return_when=asyncio.FIRST_COMPLETED)
                if body in done and not answer.done():
                    body.result()  # a body that was cut ends the answer too
                await answer
            finally:
                body.cancel()
                answer.cancel()
                await asyncio.gather(body, answer, return_exceptions=True)
            self._note(way, "done")
        finally:
            up_writer.transport.abort()

    async def _send_body(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        head: rules.Head,
        way: _Way,
        watch: asyncio.Timeout,
    ) -> None:
        left = head.length
        while left > 0:
            piece = await reader.read(min(_PIECE, left))
            if not piece:
                break
            left -= len(piece)
            await self._pass_up(piece, writer, way, watch)
        while head.length < 0:  # chunks are taken apart, so that nothing can follow the last one
            size = int((await reader.readline()).split(b";")[0].strip() or b"0", 16)
            data = await reader.readexactly(size + 2) if 0 < size <= self._up_max else b""
            if size > self._up_max or (size and not data.endswith(b"\r\n")):
                raise _Cut("the request is too large or its chunks cannot be read")
            await self._pass_up(b"%x\r\n%s" % (size, data if size else b"\r\n"), writer, way, watch)
            if size == 0:
                break

    async def _pass_up(self, piece: bytes, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout) -> None:
        self._touch(watch)
        way.record = replace(way.record, sent_bytes=way.record.sent_bytes + len(piece))
        if way.record.sent_bytes > self._up_max:
            raise _Cut("the request is too large")
        writer.write(piece)
        await writer.drain()

    async def _relay_answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        head = await self._read_head(reader)
        while head.startswith((b"HTTP/1.1 100", b"HTTP/1.0 100")):
            head = await self._read_head(reader)
        status, kept, length = _answer_head(head)
        way.record = replace(way.record, status=status)
        self._guard(b"", head, way)
        writer.write(kept)
        tail = b""
        left = 0 if way.record.method == "HEAD" or status in (204, 304) else length
        while left != 0:
            piece = await reader.read(_PIECE if left < 0 else min(_PIECE, left))
            if not piece:
                break
            left -= len(piece) if left > 0 else 0
            tail = self._guard(tail, piece, way)
            await self._pass_down(piece, writer, way, watch)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _pass_down(self, piece: bytes, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout) -> None:
        self._touch(watch)
        way.record = replace(way.record, received_bytes=way.record.received_bytes + len(piece))
        if way.record.received_bytes > self._down_max:
            raise _Cut("the answer is too large")
        writer.write(piece)
        await writer.drain()

    def _guard(self, before: bytes, piece: bytes, way: _Way) -> bytes:
        """End an answer that holds the credential; returns what the next piece must be read together with."""
        credential = way.rule.credential if way.rule else None
        if credential is None:
            return b""
        secret = credential.value.split(" ")[-1].encode()
        text = before + piece
        if len(secret) >= 8 and secret in text:
            raise _Cut("the answer held the credential")
        return text[-len(secret) :]

    # --- tunnels ---

    async def _tunnel(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: _Way,
        to: rules.Destination,
        watch: asyncio.Timeout,
    ) -> None:
        up_reader, up_writer = await self._connect(way, to.port, None)
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            hello = await asyncio.wait_for(_read_hello(reader), _HELLO_S_MAX)
            if rules.server_name(hello) != to.host:
                raise _Cut("the tunnel does not begin with a TLS greeting for its host")
            await self._pass_up(hello, up_writer, way, watch)
            up = asyncio.create_task(self._pipe_up(reader, up_writer, way, watch))
            down = asyncio.create_task(self._pipe_down(up_reader, writer, way, watch))
            done, rest = await asyncio.wait({up, down}, return_when=asyncio.FIRST_EXCEPTION)
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            for task in done:
                task.result()
            self._note(way, "done")
        finally:
            up_writer.transport.abort()

    async def _pipe_up(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        while piece := await reader.read(_PIECE):
            await self._pass_up(piece, writer, way, watch)
        writer.write_eof()

    async def _pipe_down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        while piece := await reader.read(_PIECE):
            await self._pass_down(piece, writer, way, watch)
        writer.write_eof()

    # --- shared ---

    async def _resolve(self, to: rules.Destination, rule: EgressRule) -> str:
        loop = asyncio.get_running_loop()
        try:
            found = await asyncio.wait_for(
                loop.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM), self.policy.egress_connect_s_max
            )
        except (OSError, UnicodeError) as error:
            raise EgressFailed(why=f"{to.host} has no address ({type(error).__name__})") from None
        return rules.choose_address([str(item[4][0]) for item in found], rule)

    async def _connect(
        self, way: _Way, port: int, tls_name: str | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = _checking() if tls_name else None
        limit = self.policy.egress_head_bytes_max
        opening = asyncio.open_connection(way.record.address, port, ssl=context, server_hostname=tls_name, limit=limit)
        return await asyncio.wait_for(opening, self.policy.egress_connect_s_max)

    async def _read_head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return (await reader.readuntil(b"\r\n\r\n"))[:-4]
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise EgressRefused(why="the head is incomplete or too large") from None

    def _knows(self, head: rules.Head) -> bool:
        kind, _, given = (head.header(b"proxy-authorization") or b"").partition(b" ")
        return kind.lower() == b"basic" and hmac.compare_digest(given.strip(), self._secret)

    async def _answer(self, writer: asyncio.StreamWriter, way: _Way, status: int, outcome: str, why: str) -> None:
        self._note(way, outcome, why)
        body = f"choir: {why}\n".encode()
        reason = {403: "Forbidden", 407: "Proxy Authentication Required", 502: "Bad Gateway"}[status]
        extra = 'Proxy-Authenticate: Basic realm="choir"\r\n' if status == 407 else ""
        head = f"HTTP/1.1 {status} {reason}\r\n{extra}Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        try:
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await asyncio.wait_for(writer.drain(), 1)
            writer.close()
            await asyncio.wait_for(writer.wait_closed(), 1)
        except (OSError, TimeoutError):
            return

    def _note(self, way: _Way, outcome: str, why: str = "") -> None:
        ms = round((time.monotonic() - way.began) * 1000)
        if len(self.records) >= self._requests_max + _REFUSALS_RECORDED_MAX:
            self.unrecorded += 1
            return
        self.records.append(replace(way.record, outcome=outcome, why=why[:200], ms=ms))

    def _touch(self, watch: asyncio.Timeout) -> None:
        watch.reschedule(asyncio.get_running_loop().time() + self.policy.egress_idle_s_max)


@cache
def _checking() -> ssl.SSLContext:
    """TLS that checks certificates. Loading the authorities takes a while, so it is done once."""
    return ssl.create_default_context()


def _least(asked: int | None, ceiling: int) -> int:
    return ceiling if asked is None else min(asked, ceiling)


async def _read_hello(reader: asyncio.StreamReader) -> bytes:
    """The first TLS record, or the first bytes of whatever else it is."""
    head = await reader.readexactly(5)
    if head[0] != rules.TLS_HANDSHAKE:
        return head
    size = int.from_bytes(head[3:5])
    return head + await reader.readexactly(min(size, 16_384))


def _answer_head(head: bytes) -> tuple[int, bytes, int]:
    """Status, the head as it is handed on, and the length of the body (-1: until the end)."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise EgressFailed(why="the answer cannot be read")
    kept = [b"HTTP/1.1 " + b" ".join(words[1:])]
    length = -1
    chunked = False
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        word = name.lower().strip()
        if word == b"content-length" and value.strip().isdigit():
            length = int(value.strip())
        chunked = chunked or word == b"transfer-encoding"
        if word not in (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"upgrade"):
            kept.append(line)
    return int(words[1]), b"\r\n".join([*kept, b"Connection: close", b"", b""]), -1 if chunked else length
