"""The proxy of one run: HTTP and CONNECT over a Unix socket, by the rules and within the limits.

Guarantees: every request that reaches the socket is recorded, allowed or not; a host is resolved once and
the connection goes to that very address; a payload can hold only so many connections, bytes and seconds, and open
only so many before nobody listens any more; a credential that comes back in an answer ends the answer before any
part of it has gone on.
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

from choir.sandbox.egress import frames as framing
from choir.sandbox.egress import rules
from choir.sandbox.egress.model import Egress, EgressFailed, EgressRecord, EgressRefused, EgressRule, Tap
from choir.sandbox.policy import SandboxPolicy

_REFUSALS_RECORDED_MAX = 1_000
_HELLO_S_MAX = 10


@dataclass(slots=True)
class _Way:
    """One request on its way."""

    record: EgressRecord
    began: float
    rule: EgressRule | None = None
    tap: Tap | None = None  # looks at the answer, if the rule has a meter
    answered: bool = False  # whether the payload has the head of an answer
    complete: bool = False  # whether it has all of it; what goes wrong then is only the parting


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
        self._connections = 0
        self._open = 0
        self._requests_max = _least(egress.requests_max, policy.egress_requests_max)
        self._up_max = _least(egress.request_bytes_max, policy.egress_request_bytes_max)
        self._down_max = _least(egress.response_bytes_max, policy.egress_response_bytes_max)
        self._total_max: int | None = None
        self._total = 0
        if egress.total_bytes_max is not None:
            self._total_max = self._down_max = _least(egress.total_bytes_max, policy.egress_total_bytes_max)

    @property
    def is_spent(self) -> bool:
        """Whether there were so many connections that no more is worth a look: each costs the host time."""
        return self._connections > self._requests_max + _REFUSALS_RECORDED_MAX

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        self._open += 1
        self._connections += 1
        way = _Way(EgressRecord(self.now_us(), "", "", 0, "", "failed"), time.monotonic())
        try:
            async with asyncio.timeout(None) as watch:
                watch.reschedule(asyncio.get_running_loop().time() + self.policy.egress_idle_s_max)
                await self._handle(reader, writer, way, watch)
        except EgressRefused as refusal:
            await self._answer(writer, way, 403, "refused", str(refusal))
        except framing.Cut as cut:
            self._note(way, "cut", str(cut))
        except asyncio.CancelledError:
            if way.record.method:  # something may have been sent, and belongs in the record
                self._note(way, "cut", "the run was over")
            raise
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
        if rule.meter is not None and (spent := rule.meter.refusal()):
            raise EgressRefused(why=spent)
        if head.length > self._up_max:
            raise EgressRefused(why="the request is too large")
        address = await self._resolve(to, rule)
        added = rule.credential is not None and head.method != "CONNECT"  # nothing can be added inside a tunnel
        way.record = replace(way.record, address=address, credential=added)
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
        way.tap = None if rule.meter is None else rule.meter.tap()
        self._touch(watch, way)
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
            if way.tap is not None and 200 <= way.record.status < 300:  # a refusal is no use
                way.tap.close(way.record.sent_bytes, way.record.received_bytes)

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
            piece = await reader.read(min(framing.PIECE, left))
            if not piece:
                break
            left -= len(piece)
            await self._pass_up(piece, writer, way, watch)
        if head.length < 0:
            async for piece in framing.chunks(reader):
                await self._pass_up(framing.chunk(piece), writer, way, watch)
            await self._pass_up(framing.LAST_CHUNK, writer, way, watch)

    async def _pass_up(self, piece: bytes, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout) -> None:
        self._touch(watch, way)
        way.record = replace(way.record, sent_bytes=way.record.sent_bytes + len(piece))
        if way.record.sent_bytes > self._up_max:
            raise framing.Cut("the request is too large")
        writer.write(piece)
        await writer.drain()

    async def _relay_answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        head = await self._read_head(reader)
        while head.startswith((b"HTTP/1.1 100", b"HTTP/1.0 100")):
            head = await self._read_head(reader)
        answer = framing.answer_head(head)
        way.record = replace(way.record, status=answer.status)
        framing.Guard(way.rule).pass_on(head)
        way.answered = True
        writer.write(answer.kept)
        if way.record.method != "HEAD" and answer.status not in (204, 304):
            await self._relay_body(reader, writer, way, watch, answer)
        await writer.drain()
        way.complete = True
        writer.close()
        await writer.wait_closed()

    async def _relay_body(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: _Way,
        watch: asyncio.Timeout,
        answer: framing.Answer,
    ) -> None:
        """Chunks are taken apart and made anew, so that none can lie between two halves of a credential."""
        guard = framing.Guard(way.rule)
        framed = framing.chunk if answer.chunked else bytes
        async for piece in framing.chunks(reader) if answer.chunked else framing.plain(reader, answer.length):
            self._touch(watch, way)
            if way.tap is not None:
                way.tap.take(piece)
            if fine := guard.pass_on(piece):
                await self._pass_down(framed(fine), writer, way, watch)
        if rest := guard.rest():
            await self._pass_down(framed(rest), writer, way, watch)
        if answer.chunked:
            await self._pass_down(framing.LAST_CHUNK, writer, way, watch)

    async def _pass_down(self, piece: bytes, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout) -> None:
        self._touch(watch, way)
        way.record = replace(way.record, received_bytes=way.record.received_bytes + len(piece))
        if way.record.received_bytes > self._down_max:
            raise framing.Cut("the answer is too large")
        self._total += len(piece)
        if self._total_max is not None and self._total > self._total_max:
            raise framing.Cut("all answers together are too large")
        writer.write(piece)
        await writer.drain()

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
            if way.rule is None or not way.rule.plain_tunnel:
                hello = await asyncio.wait_for(framing.read_hello(reader), _HELLO_S_MAX)
                if rules.server_name(hello) != to.host:
                    raise framing.Cut("the tunnel does not begin with a TLS greeting for its host")
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
        while piece := await reader.read(framing.PIECE):
            await self._pass_up(piece, writer, way, watch)
        writer.write_eof()

    async def _pipe_down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: _Way, watch: asyncio.Timeout
    ) -> None:
        while piece := await reader.read(framing.PIECE):
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
        if way.answered:
            return  # a second head would be read as part of the first answer's body
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
        outcome, why = ("done", "") if way.complete else (outcome, why[:200])
        self.records.append(replace(way.record, outcome=outcome, why=why, ms=ms))

    def _touch(self, watch: asyncio.Timeout, way: _Way) -> None:
        asked = None if way.rule is None else way.rule.idle_s
        idle_s = self.policy.egress_idle_s_max if asked is None else asked
        watch.reschedule(asyncio.get_running_loop().time() + idle_s)


@cache
def _checking() -> ssl.SSLContext:
    """TLS that checks certificates. Loading the authorities takes a while, so it is done once."""
    return ssl.create_default_context()


def _least(asked: int | None, ceiling: int) -> int:
    return ceiling if asked is None else min(asked, ceiling)
