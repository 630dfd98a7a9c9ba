from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import httpx
import pytest

from probes.egress_rules import EgressRules, parse_grants
from probes.errors import (
    ConnectFailed,
    Phase,
    ProviderError,
    TargetError,
    TimedOut,
    TooLarge,
    TransportError,
)
from probes.target import Limits
from probes.transport import MAX_READS, Transport, WireRequest
from tests.probes.httpx_responses import answer

pytestmark = pytest.mark.anyio

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def ask(url: str = "http://e.test/", **headers: str) -> WireRequest:
    return WireRequest("POST", url, headers, b"{}")


def local(port: int) -> str:
    return f"http://127.0.0.1:{port}/"


@contextlib.asynccontextmanager
async def server(speak: Speak, until: bytes = b"{}") -> AsyncIterator[int]:
    """A server that reads up to a mark and then runs `speak`; yields its port."""
    talks: set[asyncio.Task[None] | None] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(asyncio.current_task())
        try:
            await reader.readuntil(until)
            await speak(writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
        for talk in talks:
            if talk is not None:
                talk.cancel()
        await asyncio.gather(*(talk for talk in talks if talk is not None))


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    while True:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(0.05)


async def test_an_answer_comes_with_bytes_and_times() -> None:
    """Chunks are kept as they arrived, with rising offsets."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"2\r\nab\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"1\r\nc\r\n0\r\n\r\n")
        await writer.drain()

    async with server(speak) as port, Transport() as transport:
        incoming = await transport.send(ask(local(port)))

    assert incoming.status == 200
    assert [chunk.data for chunk in incoming.chunks] == [b"ab", b"c"]
    assert incoming.first_byte_ms is not None
    assert incoming.first_byte_ms <= incoming.chunks[0].ms < incoming.chunks[1].ms
    assert incoming.http_version == "HTTP/1.1"


async def test_a_dripping_header_runs_out_of_the_first_byte_clock() -> None:
    """Occasional bytes do not restart the header's time limit."""
    limits = Limits(first_byte_s=0.3)

    async with server(lambda writer: drip(writer, b"H")) as port, Transport(limits) as transport:
        with pytest.raises(TimedOut, match=r"No first byte within 0\.3 s") as caught:
            await transport.send(ask(local(port)))

    assert caught.value.phase is Phase.FIRST_BYTE
    assert caught.value.received is None


async def test_a_silent_body_runs_out_of_the_idle_clock_and_keeps_what_came() -> None:
    """The error carries the received part."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"2\r\nab\r\n")
        await writer.drain()
        await asyncio.sleep(30)

    async with server(speak) as port, Transport(Limits(idle_s=0.2)) as transport:
        with pytest.raises(TimedOut, match="no further byte") as caught:
            await transport.send(ask(local(port)))

    assert caught.value.phase is Phase.BETWEEN_BYTES
    assert caught.value.received is not None
    assert caught.value.received.body == b"ab"


async def test_a_dripping_body_runs_out_of_the_total_clock() -> None:
    """Bytes that keep coming do not extend the total limit."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await drip(writer, b"1\r\nx\r\n")

    async with server(speak) as port, Transport(Limits(total_s=0.4)) as transport:
        with pytest.raises(TimedOut, match="not complete within") as caught:
            await transport.send(ask(local(port)))

    assert caught.value.phase is Phase.TOTAL
    assert caught.value.received is not None
    assert caught.value.received.body.startswith(b"x")


async def test_a_server_that_speaks_something_else_is_named() -> None:
    """An answer that is not HTTP is a transport error with its own message."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

    async with server(speak) as port, Transport() as transport:
        with pytest.raises(TransportError, match=r"not in HTTP.*begins with: SSH-2"):
            await transport.send(ask(local(port)))


@pytest.mark.parametrize("egress", [None, EgressRules(parse_grants("127.0.0.0/8"))])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"hello",
            "but not in HTTP. Check scheme, host and port of the base URL. The answer begins",
        ),
        (b"<html>hi</html>\n", "The answer begins with: <html>hi</html>"),
        (b"-ERR unknown command\r\n", "The answer begins with: -ERR unknown"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "The answer begins with: SSH-2.0"),
        (b"x" * 200_000, "The answer begins with: xxx"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "speaks TLS: write https://"),
        (b"HTTP/1.1 200 OK\r\nA: b", "closed before the answer was complete"),
        (b"HTTP/1.1 2", "closed before the answer was complete"),
    ],
    ids=["no line", "HTTP/0.9", "Redis", "SSH", "endless line", "TLS", "cut header", "cut status"],
)
async def test_bytes_that_are_no_http_answer_are_quoted(
    data: bytes, message: str, egress: EgressRules | None
) -> None:
    """An answer came, so the message does not say that none did; it names what to check."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    async with server(speak) as port, Transport(egress=egress) as transport:
        with pytest.raises(TransportError, match=re.escape(message)) as caught:
            await transport.send(ask(local(port)))
    assert len(str(caught.value)) < 300


async def test_the_bytes_of_one_answer_are_not_quoted_for_the_next() -> None:
    """A kept connection that is closed before the second answer began says that none came."""
    # The second request is sent again, on a new connection.
    answers = iter([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b"", b""])

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in answers:
            await reader.readuntil(b"{}")
            writer.write(reply)
            if not reply:
                break
        writer.close()

    async with (
        await asyncio.start_server(handle, "127.0.0.1", 0) as listening,
        Transport() as transport,
    ):
        url = local(listening.sockets[0].getsockname()[1])
        assert (await transport.send(ask(url))).body == b"{}"
        with pytest.raises(TransportError, match="closed the connection without an answer"):
            await transport.send(ask(url))


async def test_a_connection_closed_without_an_answer_is_named() -> None:
    """A closed connection differs from an invalid answer."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with server(speak) as port, Transport() as transport:
        with pytest.raises(TransportError, match="closed the connection without an answer"):
            await transport.send(ask(local(port)))


async def test_a_refused_connection_says_so() -> None:
    """A closed port is ConnectFailed, not a timeout."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        async with Transport() as transport:
            with pytest.raises(ConnectFailed, match="was refused"):
                await transport.send(ask(local(port)))


async def test_a_name_that_does_not_resolve_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver error differs from other failures."""

    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    async with Transport() as transport:
        with pytest.raises(ConnectFailed, match=r"'no\.such\.test' does not resolve"):
            await transport.send(ask("http://no.such.test/"))


async def test_a_failed_tls_handshake_says_so() -> None:
    """HTTPS against a plain server has its own message."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    # A TLS hello begins with the byte 0x16.
    async with server(speak, b"\x16") as port, Transport() as transport:
        with pytest.raises(ConnectFailed, match="TLS handshake"):
            await transport.send(ask(f"https://127.0.0.1:{port}/"))


async def test_too_many_bytes_are_refused_and_the_first_are_kept() -> None:
    """The limit counts bytes on the wire; evidence keeps what fits."""
    inner = httpx.MockTransport(lambda request: answer(200, b"x" * 500))

    async with Transport(Limits(max_bytes=100), inner=inner) as transport:
        with pytest.raises(TooLarge, match="100 bytes") as caught:
            await transport.send(ask())

    assert caught.value.received is not None
    assert caught.value.received.body == b"x" * 100


async def test_too_large_headers_are_refused() -> None:
    """A header flood is bounded as well."""
    inner = httpx.MockTransport(lambda request: answer(200, a="x" * 500))

    async with Transport(Limits(max_header_bytes=400), inner=inner) as transport:
        with pytest.raises(TooLarge, match="headers"):
            await transport.send(ask())


async def test_a_compressed_answer_is_refused_unread() -> None:
    """The request asks for plain bytes; a compressed answer is not decompressed."""
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(200, b"\x1f\x8b" * 50, content_encoding="gzip")

    async with Transport(inner=httpx.MockTransport(handle)) as transport:
        with pytest.raises(ProviderError, match="compressed") as caught:
            await transport.send(ask())

    assert requests[0].headers["accept-encoding"] == "identity"
    assert caught.value.received is not None
    assert caught.value.received.chunks == ()


async def test_redirects_are_not_followed_and_cookies_not_kept() -> None:
    """One send is one request, and the next one carries nothing from the last answer."""
    requests: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(302, location="/b", set_cookie="id=1")

    async with Transport(inner=httpx.MockTransport(handle)) as transport:
        first = await transport.send(ask())
        await transport.send(ask())

    assert first.status == 302
    assert [request.url.path for request in requests] == ["/", "/"]
    assert "cookie" not in requests[1].headers


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key must not pass through a proxy from the environment."""

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async with server(speak) as port, Transport() as transport:
        assert (await transport.send(ask(local(port)))).status == 204


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ключ", "a\0b"])
async def test_a_header_that_http_cannot_carry_is_refused(value: str) -> None:
    """A key with a line break cannot add a header."""
    inner = httpx.MockTransport(lambda request: answer(200))

    async with Transport(inner=inner) as transport:
        with pytest.raises(TargetError, match="header"):
            await transport.send(ask(Authorization=value))


async def test_a_stream_may_be_longer_than_a_whole_answer() -> None:
    """Each token of a stream has a frame of its own; the limit says which one was meant."""
    inner = httpx.MockTransport(lambda request: answer(200, b"x" * 500))
    limits = Limits(max_bytes=100, max_stream_bytes=400)

    async with Transport(limits, inner=inner) as transport:
        with pytest.raises(TooLarge, match="400 bytes") as caught:
            await transport.send(replace(ask(), may_be_long=True))

    assert caught.value.received is not None
    assert (len(caught.value.received.body), caught.value.received.size) == (400, 500)


async def test_very_many_reads_are_joined() -> None:
    """An object for each read would take far more memory than its bytes; none of them is lost."""

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(MAX_READS + 1000):
            yield b"x"

    inner = httpx.MockTransport(lambda request: httpx.Response(200, content=drip()))
    async with Transport(inner=inner) as transport:
        incoming = await transport.send(ask())

    assert len(incoming.chunks) == MAX_READS + 1
    assert incoming.body == b"x" * (MAX_READS + 1000)


async def test_answers_at_the_same_time_are_bounded_together() -> None:
    """Many answers below the limit of one must not fill the memory either."""
    is_read, may_end = asyncio.Event(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"x" * 100
        is_read.set()
        await may_end.wait()

    inner = httpx.MockTransport(lambda request: httpx.Response(200, content=body()))
    async with Transport(Limits(max_bytes_at_once=150), inner=inner) as transport:
        first = asyncio.create_task(transport.send(ask()))
        await is_read.wait()
        with pytest.raises(TooLarge, match="same time"):
            await transport.send(ask())
        may_end.set()
        assert (await first).size == 100
        assert (await transport.send(ask())).size == 100
