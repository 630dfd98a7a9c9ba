from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import http.client
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from benchmarks.raw_http import Connection, request
from benchmarks.simulators import PLAIN, question, streams
from simulators.listener import open_listener
from simulators.options import parse_latency, parse_speed
from simulators.server import build_app
from simulators.vendors.http_response import VendorResponse
from tests.simulators.plugin import serve_vendors

LEAVING_CLIENTS = 200
NEVER = (
    "stall",
    "endless",
    "drip",
    "slow-chunks,value=3600",
    "thinking,value=3600",
    "slow,value=3600",
)


def read_port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


@contextlib.asynccontextmanager
async def serve_in_this_loop() -> AsyncIterator[int]:
    """Serve the vendors over real HTTP in the test's own loop, to count its tasks."""
    config = uvicorn.Config(
        build_app(latency=(0, 0)), log_level="critical", lifespan="off", proxy_headers=False
    )
    server = uvicorn.Server(config)
    with open_listener("127.0.0.1", 0) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


async def open_and_leave(port: int, switches: str, count: int) -> None:
    """Open that many streams and close each before it ends."""
    data = request(f"/with/{switches}{PLAIN}", question(1, stream=True))
    async with contextlib.AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(Connection(port)) for _ in range(count)]
        if switches.startswith("slow,"):
            for connection in opened:
                connection.write(data)
            return await wait_until(lambda: count_open_answers() == count)
        heads = await asyncio.gather(*(connection.begin(data) for connection in opened))
        assert all(b" 200 " in head for head in heads)


async def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; the test's timeout is the limit."""
    while not condition():
        await asyncio.sleep(0.05)


def count_open_answers() -> int:
    gc.collect()
    return sum(isinstance(thing, VendorResponse) for thing in gc.get_objects())


@pytest.mark.anyio
async def test_five_hundred_streams_are_served_at_once(vendor_url: str) -> None:
    """Each stream thinks for a second and gets the answer to its own question."""
    assert await streams(read_port(vendor_url), 500) == 500


@pytest.mark.anyio
@pytest.mark.timeout(60)
@pytest.mark.parametrize("switches", NEVER)
async def test_nothing_is_kept_for_disconnected_clients(switches: str) -> None:
    """No task and no answer survives a disconnect, although the answers never end."""
    async with serve_in_this_loop() as port:
        before = len(asyncio.all_tasks())

        await open_and_leave(port, switches, LEAVING_CLIENTS)

        await wait_until(lambda: len(asyncio.all_tasks()) <= before and not count_open_answers())


@pytest.mark.anyio
async def test_hanging_answers_do_not_block_others(vendor_url: str) -> None:
    """A request is answered while twenty answers hang and twenty are endless."""
    port = read_port(vendor_url)
    async with contextlib.AsyncExitStack() as stack:
        for index in range(40):
            connection = await stack.enter_async_context(Connection(port))
            switches = "endless" if index % 2 else "stall"
            await connection.begin(request(f"/with/{switches}{PLAIN}", question(1, stream=True)))
        other = await stack.enter_async_context(Connection(port))
        answer = await other.ask(request(PLAIN, question(1)))

    assert json.loads(answer.body)["choices"][0]["finish_reason"] == "tool_calls"


def test_broken_answers_are_not_logged() -> None:
    """Broken connections are intended, so they cause no log and no traceback."""
    with tempfile.TemporaryFile() as stderr:
        with serve_vendors(stderr=stderr) as (url, _):
            for stream in (False, True):
                with pytest.raises(httpx.RemoteProtocolError):
                    httpx.post(
                        f"{url}/with/cut{PLAIN}",
                        json=question(1, stream=stream),
                        trust_env=False,
                    )
            asyncio.run(open_and_leave(read_port(url), "endless", 1))
        stderr.seek(0)
        assert stderr.read() == b""


def test_one_connection_serves_answers_of_every_kind(vendor_url: str) -> None:
    """Whole answers, chunked streams and HEAD keep the connection open."""
    connection = http.client.HTTPConnection("127.0.0.1", read_port(vendor_url), timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", PLAIN, json.dumps(question(1)))
        whole = connection.getresponse()
        assert len(whole.read()) == int(whole.headers["content-length"])
        kept = connection.sock
        connection.request("POST", PLAIN, json.dumps(question(1, stream=True)))
        stream = connection.getresponse()
        assert stream.headers["transfer-encoding"] == "chunked"
        assert stream.read().endswith(b"data: [DONE]\n\n")
        connection.request("HEAD", "/open/v1/models")
        head = connection.getresponse()
        assert int(head.headers["content-length"]) > 0
        assert head.read() == b""
        connection.request("GET", "/open/v1/models")
        assert json.load(connection.getresponse())["object"] == "list"
        assert connection.sock is kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", (0, 0)), ("0.2", (0.2, 0.2)), ("0.1-0.3", (0.1, 0.3)), ("1-1", (1, 1))],
)
def test_a_latency_is_seconds_or_a_range(text: str, expected: tuple[float, float]) -> None:
    """One number is a constant latency."""
    assert parse_latency(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "3-1", "fast", "nan", "inf", "1-", "1-2-3"])
def test_a_wrong_latency_is_explained(text: str) -> None:
    """The message shows valid values."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"give seconds such as 0\.2, or a range"):
        parse_latency(text)


@pytest.mark.parametrize("text", ["", "0", "-2", "fast", "nan", "inf"])
def test_a_wrong_speed_is_explained(text: str) -> None:
    """Zero, negative and invalid speeds are refused with an example."""
    with pytest.raises(argparse.ArgumentTypeError, match="give a number above 0"):
        parse_speed(text)


def test_the_clock_runs_at_the_speed_of_the_option() -> None:
    """With --speed 1000000 the clock passes a day in less than a second."""
    with serve_vendors("--speed", "1000000") as (url, _):
        now = httpx.get(f"{url}/_clock", trust_env=False).json()["now"]
        while now < 86_400:
            now = httpx.get(f"{url}/_clock", trust_env=False).json()["now"]
