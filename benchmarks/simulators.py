"""How much the simulated vendors can serve on one core: `python -m benchmarks.simulators`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Mount, Route

from benchmarks.raw_http import Answer, Connection, request
from probes.adapters import FORMATS
from probes.events import ReplyEnded
from simulators.listener import open_listener
from simulators.server import build_app

STREAMS = 500
THINKING = "/with/thinking,value=1/open/v1/chat/completions"
PLAIN = "/open/v1/chat/completions"
HELLO = "/hello"
THINK = "/think"
ROUNDS = 5
CONCURRENCIES = (1, 16, 128)
SECONDS = 3.0
TICKS = os.sysconf("SC_CLK_TCK")
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOL = {"type": "function", "function": {"name": "probe_add", "parameters": PARAMETERS}}


def question(number: int, *, stream: bool = False) -> dict[str, Any]:
    prompt = f"Call probe_add with a = {number} and b = 4."
    messages = [{"role": "user", "content": prompt}]
    return {"model": "sim-steady", "messages": messages, "tools": [TOOL], "stream": stream}


THOUGHTFUL = [request(THINKING, question(number, stream=True)) for number in range(STREAMS)]
ANSWERS = {
    "hello": request(HELLO),
    "whole": request(PLAIN, question(1)),
    "streamed": request(PLAIN, question(1, stream=True)),
}


def main() -> int:
    """Measure and print; with an argument, serve on that socket."""
    if len(sys.argv) > 1:
        return _serve(int(sys.argv[1]))
    cores = sorted(os.sched_getaffinity(0))
    # With a single core both share it, and the figures mean little.
    os.sched_setaffinity(0, {cores[-1]})
    with _server(cores[0]) as server:
        asyncio.run(_measure(server))
    return 0


@dataclass(frozen=True, slots=True)
class Server:
    """The measured process."""

    port: int
    pid: int

    def processor_seconds(self) -> float:
        """The processor time used so far."""
        fields = (
            Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass(frozen=True, slots=True)
class Round:
    """Many concurrent streams: the time until the last was complete, the cost, the answers."""

    seconds: float
    processor: float
    answers: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests per second, and the server's processor time per request."""

    per_second: float
    cost: float


async def _measure(server: Server) -> None:
    out = sys.stdout
    # Start-up, imports and the creation of the vendor are not measured.
    await streams(server.port, 1)
    out.write(
        f"| {STREAMS} streams at once, 1 s of thinking | complete after, s: median (all rounds) "
    )
    out.write("| server's processor, s: median |\n|---|---|---|\n")
    rounds: dict[str, list[Round]] = {"bare Starlette": [], "vendor": []}
    for _ in range(ROUNDS):
        # In turns, so that other load on the machine affects both.
        rounds["bare Starlette"].append(await _measure_round(server, [request(THINK)] * STREAMS))
        rounds["vendor"].append(await _measure_round(server, THOUGHTFUL))
    for name, measured_rounds in rounds.items():
        out.write(_streams_row(name, measured_rounds))
    for measured in rounds["vendor"]:
        _check_answers(measured.answers)
    out.write("\n| at once | answer | per second | of hello | processor, ms each | times hello |\n")
    out.write("|---|---|---|---|---|---|\n")
    for at_once in CONCURRENCIES:
        await _write_rates(server, at_once)


def _streams_row(name: str, rounds: Sequence[Round]) -> str:
    times = [measured.seconds for measured in rounds]
    all_times = ", ".join(f"{time:.2f}" for time in times)
    processor = median(measured.processor for measured in rounds)
    return f"| {name} | {median(times):.2f} ({all_times}) | {processor:.2f} |\n"


async def _write_rates(server: Server, at_once: int) -> None:
    rates = {name: await _measure_rate(server, data, at_once) for name, data in ANSWERS.items()}
    hello = rates["hello"]
    for name, rate in rates.items():
        share, times = rate.per_second / hello.per_second, rate.cost / hello.cost
        sys.stdout.write(
            f"| {at_once} | {name} | {rate.per_second:.0f} | {share:.2f} "
            f"| {rate.cost * 1000:.2f} | {times:.1f} |\n"
        )


async def streams(port: int, count: int) -> int:
    """Ask this many different questions at once; returns the number of right answers."""
    answers = await _at_once(port, THOUGHTFUL[:count])
    return sum(is_right(answer, number) for number, answer in enumerate(answers))


async def _at_once(port: int, requests: Sequence[bytes]) -> list[Answer]:
    async def ask_once(data: bytes) -> Answer:
        async with Connection(port) as connection:
            return await connection.ask(data)

    return await asyncio.gather(*map(ask_once, requests))


async def _measure_round(server: Server, requests: Sequence[bytes]) -> Round:
    processor, started = server.processor_seconds(), time.perf_counter()
    answers = await _at_once(server.port, requests)
    measured_rounds = time.perf_counter() - started
    return Round(measured_rounds, server.processor_seconds() - processor, answers)


def _check_answers(answers: Sequence[Answer]) -> None:
    right = sum(is_right(answer, number) for number, answer in enumerate(answers))
    if right != STREAMS:
        raise SystemExit(f"Only {right} of {STREAMS} streams were right.")


def is_right(answer: Answer, number: int) -> bool:
    """Whether a streamed answer is the requested call."""
    reader = FORMATS["openai"].read_stream()
    last = [*reader.feed(answer.body), *reader.close()][-1]
    assert isinstance(last, ReplyEnded)
    calls = [(call.name, dict(call.input)) for call in last.reply.calls]
    return answer.status == 200 and calls == [("probe_add", {"a": number, "b": 4})]


async def _measure_rate(server: Server, data: bytes, at_once: int) -> Rate:
    """As many requests as are answered in some seconds, over persistent connections."""
    end = time.perf_counter() + SECONDS
    done = 0

    async def keep_asking() -> None:
        nonlocal done
        async with Connection(server.port) as connection:
            while time.perf_counter() < end:
                answer = await connection.ask(data)
                assert answer.status == 200, answer
                done += 1

    processor, started = server.processor_seconds(), time.perf_counter()
    await asyncio.gather(*(keep_asking() for _ in range(at_once)))
    measured_rounds = time.perf_counter() - started
    return Rate(done / measured_rounds, (server.processor_seconds() - processor) / done)


@contextlib.contextmanager
def _server(core: int) -> Iterator[Server]:
    """The vendors in their own process, on this core only."""
    with open_listener("127.0.0.1", 0) as listener:
        descriptor = listener.fileno()
        command = [sys.executable, "-m", "benchmarks.simulators", str(descriptor)]
        with subprocess.Popen(command, pass_fds=[descriptor]) as process:
            os.sched_setaffinity(process.pid, {core})
            try:
                yield Server(listener.getsockname()[1], process.pid)
            finally:
                process.terminate()


def _serve(descriptor: int) -> int:
    """Serve the vendors, and the minimal answers of the same framework."""

    async def hello(request: Request) -> JSONResponse:
        return JSONResponse({"hello": "world"})

    async def think(request: Request) -> StreamingResponse:
        async def events() -> AsyncIterator[bytes]:
            await asyncio.sleep(1)
            for _ in range(4):
                yield b"data: {}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    app = Starlette(
        routes=[Route(HELLO, hello), Route(THINK, think), Mount("/", build_app(latency=(0, 0)))]
    )
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", proxy_headers=False
    )
    with socket.socket(fileno=descriptor) as listener, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
