from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from probes.adapters import FORMATS
from probes.errors import (
    NotJSON,
    Phase,
    ProviderError,
    TimedOut,
    TooLarge,
    TransportError,
    WireError,
)
from probes.events import ReplyEnded
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import Reply, Stop
from probes.target import Limits
from probes.transport import Transport
from simulators.faults.transport.delivery import FAULTS
from tests.simulators.fault_client import (
    ECHOED,
    EVERY_FORMAT,
    HEADERS,
    ONE,
    FaultyVendor,
    question,
    read_calls,
)

every_format = pytest.mark.parametrize("wire_format", EVERY_FORMAT)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
# Long enough that a busy machine answers, short where silence is what we wait for.
LIMITS = Limits(connect_s=20, first_byte_s=20, idle_s=20, total_s=40, max_bytes=256 * 1024)
SHORT = Limits(connect_s=20, first_byte_s=20, idle_s=0.5, total_s=40, max_bytes=256 * 1024)
CHAT = "/open/v1/chat/completions"
# Bytes that have not arrived by then never arrive.
SILENT = httpx.Timeout(20, read=2)
# Shorter where not even a first byte may arrive: a busy machine only delays it further.
SILENT_AT_ONCE = httpx.Timeout(20, read=0.5)
BODY: dict[str, Any] = FORMATS["openai"].write_request(question(ONE)) | {"model": "sim-steady"}


def to_wire_response(answer: httpx.Response) -> WireResponse:
    return WireResponse(answer.status_code, dict(answer.headers), (Chunk(0, answer.content),))


def read_stream(wire_format: str, data: bytes) -> Reply:
    """The reply that our reader parses from a stream."""
    reader = FORMATS[wire_format].read_stream()
    last = [*reader.feed(data), *reader.close()][-1]
    assert isinstance(last, ReplyEnded)
    return last.reply


def read_until_error(answer: httpx.Response, error: type[httpx.HTTPError]) -> bytes:
    """The bytes that arrive before the expected error."""
    arrived = b""
    try:
        for piece in answer.iter_raw():
            arrived += piece
    except error:
        return arrived
    raise AssertionError("The answer came to its end.")


@contextmanager
def open_answer(
    url: str, switches: str, *, stream: bool = False, timeout: httpx.Timeout | float = 20
) -> Iterator[httpx.Response]:
    """Open an answer and yield it once its head has arrived."""
    address = f"{url}/with/{switches}{CHAT}"
    with (
        httpx.Client(trust_env=False, timeout=timeout) as client,
        client.stream("POST", address, json=BODY | {"stream": stream}, headers=HEADERS) as answer,
    ):
        yield answer


async def send_with_transport(
    url: str, switches: str, limits: Limits, *, stream: bool = False
) -> WireResponse:
    """The answer to our own transport, within those limits."""
    data = json.dumps(BODY | {"stream": stream}).encode()
    headers = {"content-type": "application/json"}
    async with Transport(limits) as transport:
        return await transport.send(
            WireRequest("POST", f"{url}/with/{switches}{CHAT}", headers, data)
        )


def read_healthy_answer(url: str, *, stream: bool = False) -> bytes:
    with open_answer(url, "slow,value=0", stream=stream) as answer:
        return answer.read()


@both_ways
@every_format
@pytest.mark.parametrize("switches", ["slow,value=0.01", "thinking,value=0.01"])
def test_a_late_answer_is_an_answer(
    vendor_url: str, switches: str, wire_format: str, stream: bool
) -> None:
    """A late answer is complete."""
    reply = FaultyVendor(vendor_url, switches).read_reply(wire_format, question(ONE), stream=stream)

    assert read_calls(reply) == [ECHOED]
    assert not reply.deviations


@every_format
def test_a_stream_with_pauses_is_a_stream(vendor_url: str, wire_format: str) -> None:
    """A stream with pauses is complete."""
    reply = FaultyVendor(vendor_url, "slow-chunks,value=0.01").read_reply(
        wire_format, question(ONE), stream=True
    )

    assert read_calls(reply) == [ECHOED]


@both_ways
def test_a_slow_vendor_delays_the_head(vendor_url: str, stream: bool) -> None:
    """The wait is before the first byte."""
    with (
        pytest.raises(httpx.ReadTimeout),
        open_answer(vendor_url, "slow,value=3600", stream=stream, timeout=SILENT_AT_ONCE),
    ):
        pass


def test_a_thinking_vendor_sends_the_head_of_a_stream(vendor_url: str) -> None:
    """The wait is between the head and the first chunk."""
    with open_answer(vendor_url, "thinking,value=3600", stream=True, timeout=SILENT) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        with pytest.raises(httpx.ReadTimeout):
            answer.read()


def test_a_thinking_vendor_sends_nothing_before_a_whole_answer(vendor_url: str) -> None:
    """A whole answer is delayed before its head."""
    with (
        pytest.raises(httpx.ReadTimeout),
        open_answer(vendor_url, "thinking,value=3600", timeout=SILENT_AT_ONCE),
    ):
        pass


def test_slow_chunks_come_one_by_one(vendor_url: str) -> None:
    """The first chunk arrives, the second does not."""
    with open_answer(vendor_url, "slow-chunks,value=3600", stream=True, timeout=SILENT) as answer:
        arrived = read_until_error(answer, httpx.ReadTimeout)

    whole = read_healthy_answer(vendor_url, stream=True)
    assert 0 < arrived.count(b"\n\n") < whole.count(b"\n\n")
    assert arrived.startswith(b"data: {")
    assert arrived.endswith(b"\n\n")


def test_a_whole_answer_stalls_half_way(vendor_url: str) -> None:
    """Half of the announced bytes arrive, and the connection stays open."""
    with open_answer(vendor_url, "stall", timeout=SILENT) as answer:
        promised = int(answer.headers["content-length"])
        arrived = read_until_error(answer, httpx.ReadTimeout)

    assert len(arrived) == promised // 2
    assert arrived.startswith(b'{"id": "chatcmpl-')


def test_a_stream_stalls_in_the_middle_of_a_line(vendor_url: str) -> None:
    """Whole chunks, then a part of one, then silence."""
    with open_answer(vendor_url, "stall,value=0.3", stream=True, timeout=SILENT) as answer:
        assert answer.headers["transfer-encoding"] == "chunked"
        arrived = read_until_error(answer, httpx.ReadTimeout)

    assert arrived.startswith(b"data: {")
    assert not arrived.endswith(b"\n\n")
    assert b"[DONE]" not in arrived


@both_ways
@pytest.mark.parametrize("share", ["0", "0.5", "0.9"])
def test_a_connection_breaks_off(vendor_url: str, share: str, stream: bool) -> None:
    """The closed connection is the only sign of the error."""
    with open_answer(vendor_url, f"cut,value={share}", stream=stream) as answer:
        assert answer.status_code == 200
        arrived = read_until_error(answer, httpx.RemoteProtocolError)

    assert bool(arrived) == (share != "0")
    assert b"[DONE]" not in arrived
    assert not arrived.endswith(b"}")


@pytest.mark.anyio
@both_ways
@pytest.mark.parametrize(
    ("switches", "error"),
    [
        ("stall", TimedOut),
        ("cut", TransportError),
        ("endless", TooLarge),
        ("drip", TimedOut),
        ("oversize", TooLarge),
        ("gzip-bomb", ProviderError),
    ],
)
async def test_our_transport_ends_a_broken_answer(
    vendor_url: str, switches: str, error: type[Exception], stream: bool
) -> None:
    """Our transport ends the answer within its limits, with the matching error."""
    limits = SHORT if error is TimedOut else LIMITS
    with pytest.raises(error) as caught:
        await send_with_transport(vendor_url, switches, limits, stream=stream)

    if switches == "stall":
        assert isinstance(caught.value, TimedOut)
        assert caught.value.phase is Phase.BETWEEN_BYTES
    if switches == "cut":
        assert "closed before the answer was complete" in str(caught.value)
    if switches == "gzip-bomb":
        assert "compressed" in str(caught.value)


def test_an_endless_stream_repeats_one_event(vendor_url: str) -> None:
    """The stream repeats one valid event forever."""
    arrived = b""
    with open_answer(vendor_url, "endless", stream=True) as answer:
        for piece in answer.iter_raw():
            arrived += piece
            if arrived.count(b"\n\n") > 200:
                break

    events = arrived.split(b"\n\n")[:200]
    assert len(set(events[50:])) == 1
    assert json.loads(events[-1].removeprefix(b"data: "))["object"] == "chat.completion.chunk"


def test_an_endless_body_is_never_closed(vendor_url: str) -> None:
    """The body is the answer without its last brace, followed by blanks."""
    arrived = b""
    with open_answer(vendor_url, "endless") as answer:
        assert "content-length" not in answer.headers
        for piece in answer.iter_raw():
            arrived += piece
            if len(arrived) > 300_000:
                break

    assert arrived.endswith(b" " * 100_000)
    assert json.loads(arrived.rstrip() + b"}")["object"] == "chat.completion"


@both_ways
def test_a_drip_is_a_line_break_and_another(vendor_url: str, stream: bool) -> None:
    """The bytes keep the connection alive and carry no content."""
    with open_answer(vendor_url, "drip", stream=stream) as answer:
        pieces = list(itertools.islice(answer.iter_raw(), 2))

    assert pieces == [b"\n", b"\n"]


@both_ways
@every_format
def test_an_answer_follows_its_padding(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The padded answer is valid and complete."""
    faulty = FaultyVendor(vendor_url, "oversize,value=1")

    answer = faulty.ask(wire_format, question(ONE), stream=stream)

    assert len(answer.content) > 1024 * 1024
    if not stream:
        assert len(answer.content) == int(answer.headers["content-length"])
        assert read_calls(FORMATS[wire_format].read_reply(answer.json())) == [ECHOED]
    elif wire_format == "ollama":
        assert answer.content.startswith(b'{"padding":"xxx')
    else:
        assert answer.content.startswith(b": xxx")


def test_an_oversize_answer_promises_a_hundred_megabytes(vendor_url: str) -> None:
    """The Content-Length alone is enough to refuse the answer."""
    with open_answer(vendor_url, "oversize") as answer:
        assert int(answer.headers["content-length"]) > 100 * 1024 * 1024
        assert next(answer.iter_raw()).startswith(b'{"padding":"')


@every_format
def test_an_answer_is_called_a_web_page(vendor_url: str, wire_format: str) -> None:
    """The body is valid, its content type is wrong."""
    answer = FaultyVendor(vendor_url, "wrong-content-type").ask(wire_format, question(ONE))

    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert read_calls(read_http_reply(FORMATS[wire_format], to_wire_response(answer))) == [ECHOED]


@every_format
def test_a_stream_is_called_json(vendor_url: str, wire_format: str) -> None:
    """The events are valid, their content type is wrong."""
    answer = FaultyVendor(vendor_url, "wrong-content-type").ask(
        wire_format, question(ONE), stream=True
    )

    assert answer.headers["content-type"] == "application/json"
    assert answer.content.startswith((b"data: {", b"event: ", b'{"model"'))
    assert read_calls(read_stream(wire_format, answer.content)) == [ECHOED]


@both_ways
@every_format
def test_garbage_is_not_text(vendor_url: str, wire_format: str, stream: bool) -> None:
    """A valid head is followed by a kilobyte of random bytes."""
    answer = FaultyVendor(vendor_url, "garbage").ask(wire_format, question(ONE), stream=stream)

    assert answer.status_code == 200
    assert len(answer.content) == 1024
    assert answer.content[0] == 0xFF
    if stream:
        assert read_stream(wire_format, answer.content).stop is Stop.ERROR
    else:
        with pytest.raises(NotJSON, match="not UTF-8"):
            read_http_reply(FORMATS[wire_format], to_wire_response(answer))


@both_ways
def test_a_gzip_bomb_is_small_on_the_wire(vendor_url: str, stream: bool) -> None:
    """The bomb is under 300 KB and unpacks to a thousand times its size."""
    with open_answer(vendor_url, "gzip-bomb", stream=stream) as answer:
        data = b"".join(answer.iter_raw())

    assert answer.headers["content-encoding"] == "gzip"
    assert len(data) < 300_000
    # One of its two hundred members; all of them would fill the memory.
    assert len(gzip.decompress(data[: len(data) // 200])) == 1024 * 1024


@both_ways
@every_format
def test_an_answer_is_a_list(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The answer is JSON, but not the vendor's format."""
    answer = FaultyVendor(vendor_url, "not-an-object").ask(
        wire_format, question(ONE), stream=stream
    )

    events = stream and wire_format != "ollama"
    assert answer.content == (b'data: ["ok"]\n\n' if events else b'["ok"]')
    if stream:
        assert not read_stream(wire_format, answer.content).calls
    else:
        with pytest.raises(WireError):
            read_http_reply(FORMATS[wire_format], to_wire_response(answer))


@both_ways
@every_format
def test_an_answer_is_empty(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The answer has a head and no body."""
    answer = FaultyVendor(vendor_url, "empty-body").ask(wire_format, question(ONE), stream=stream)

    assert (answer.status_code, answer.headers["content-length"]) == (200, "0")
    if stream:
        assert read_stream(wire_format, b"").stop is Stop.ERROR
    else:
        with pytest.raises(NotJSON, match="empty body"):
            read_http_reply(FORMATS[wire_format], to_wire_response(answer))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_truth_reports_availability(vendor_url: str, fault: Any) -> None:
    """Late answers count as available; of a body that is no object, only whole answers do."""
    rates: dict[str, int | None] = dict.fromkeys(
        ("slow", "thinking", "slow-chunks", "wrong-content-type"), 1
    )
    rates["not-an-object"] = None

    truth = httpx.get(f"{vendor_url}/with/{fault.name}/_truth/openai", trust_env=False).json()

    assert truth["metrics"]["availability"]["rate"] == rates.get(fault.name, 0)
    assert truth["metrics"]["parse_success"]["rate"] == (0 if fault.name == "not-an-object" else 1)
