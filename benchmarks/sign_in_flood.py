"""A signed-in person's fleet page while strangers sign in: `python -m benchmarks.sign_in_flood`."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlencode

from django.conf import settings
from django.test import Client

from benchmarks.pages import page_history, stack
from launcher import ports
from launcher.services import ROOT, web_arguments

ENDPOINTS, DAYS = 10, 30
# Beyond these this program exits with 1.
MAX_RATIO, MAX_GROWTH_MB = 3.0, 300
# Name, and TRUSTED_PROXIES: with one, every request claims another address, as of many machines.
FLOODS = {"one address": 0, "many addresses": 1}


@dataclass(slots=True)
class Measured:
    """The page's times in seconds, the flood's answers by status, and memory in MB."""

    rest: list[float] = field(default_factory=list)
    flood: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    memory_before: int = 0
    memory_peak: int = 0

    @property
    def ratios(self) -> tuple[float, float]:
        """Of the medians, and of the 95th percentiles: of pages that wait for a connection."""
        return median(self.flood) / median(self.rest), _p95(self.flood) / _p95(self.rest)

    @property
    def is_good(self) -> bool:
        # 503 is the gate's own answer.
        has_faults = any(status >= "500" and status != "503" for status in self.statuses)
        grown = self.memory_peak - self.memory_before
        return max(self.ratios) <= MAX_RATIO and not has_faults and grown <= MAX_GROWTH_MB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=80, help="parallel sign-ins")
    parser.add_argument("--seconds", type=float, default=60, help="of each flood")
    parser.add_argument("--rest", type=float, default=20, help="seconds before each flood")
    parser.add_argument("--rounds", type=int, default=2, help="of rest and flood")
    parser.add_argument("--send", nargs=2, metavar=("PORT", "PROXIES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.send:
        port, proxies = map(int, options.send)
        statuses = asyncio.run(_flood(port, options.clients, options.seconds, proxies))
        _say(json.dumps(statuses))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with stack.run_cluster():
        session = _fill()
        results = {name: _measure(session, proxies, options) for name, proxies in FLOODS.items()}
    _print_tables(results)
    return int(not all(result.is_good for result in results.values()))


def _fill() -> str:
    """Some endpoints with a history; returns the session of a person who is signed in."""
    from django.contrib.auth.models import User

    page_history.add_endpoints(1, ENDPOINTS, days=DAYS)
    page_history.settle()
    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


def _measure(session: str, proxies: int, options: argparse.Namespace) -> Measured:
    """Rest and flood in turns, on one web process."""
    measured = Measured()
    with _run_web(proxies) as (port, pid):
        _load_pages(port, session, 5)  # warm
        measured.memory_before = _memory_mb(pid, "VmRSS")
        for _ in range(options.rounds):
            measured.rest += _load_pages(port, session, options.rest)
            with _run_flood(port, proxies, options) as flood:
                measured.flood += _load_pages(port, session, options.seconds)
                measured.statuses += Counter(json.loads(flood.communicate()[0]))
        measured.memory_peak = _memory_mb(pid, "VmHWM")
    return measured


@contextmanager
def _run_web(proxies: int) -> Iterator[tuple[int, int]]:
    """The web process as the launcher starts it; yields its port and process id."""
    port = ports.free_port()
    env = {**os.environ, "PUBLIC_URL": f"http://{ports.LOOPBACK}:{port}"}
    env |= {"DATABASE_POOL_SIZE": "8", "TRUSTED_PROXIES": str(proxies), "LOG_LEVEL": "INFO"}
    command = [sys.executable, *web_arguments(ports.LOOPBACK, port)]
    child = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while ports.http_status(port, "/healthz") != 200:
            assert child.poll() is None, "the web process has ended"
            time.sleep(0.2)
        yield port, child.pid
    finally:
        child.terminate()
        child.wait(60)


@contextmanager
def _run_flood(
    port: int, proxies: int, options: argparse.Namespace
) -> Iterator[subprocess.Popen[str]]:
    """The strangers, in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.sign_in_flood", "--send", str(port), str(proxies)]
    command += ["--clients", str(options.clients), "--seconds", str(options.seconds)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def _load_pages(port: int, session: str, seconds: float) -> list[float]:
    """The times of the fleet page, one after the other."""
    headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}"}
    until, times = time.monotonic() + seconds, list[float]()
    with closing(http.client.HTTPConnection(ports.LOOPBACK, port)) as connection:
        while time.monotonic() < until:
            started = time.perf_counter()
            connection.request("GET", "/", headers=headers)
            answer = connection.getresponse()
            answer.read()
            times.append(time.perf_counter() - started)
            assert answer.status == 200, answer.status
    return times


def _memory_mb(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found
    return int(found[1]) // 1024


async def _flood(port: int, clients: int, seconds: float, proxies: int) -> Counter[str]:
    """Sign in with invented names, each client again as soon as it has its answer."""
    cookie, token = _read_form(port)
    until, statuses = time.monotonic() + seconds, Counter[str]()
    numbers = itertools.count()

    async def sign_in_again_and_again() -> None:
        while time.monotonic() < until:
            form = {"username": f"name-{next(numbers)}", "password": "wrong"}
            body = urlencode({**form, "csrfmiddlewaretoken": token}).encode()
            headers = f"Cookie: {cookie}\r\n" + (_claimed_address() if proxies else "")
            statuses[await _post(port, headers, body)] += 1

    await asyncio.gather(*(sign_in_again_and_again() for _ in range(clients)))
    return statuses


def _read_form(port: int) -> tuple[str, str]:
    """The cookie and the CSRF token of the sign-in page."""
    with closing(http.client.HTTPConnection(ports.LOOPBACK, port)) as connection:
        connection.request("GET", "/login/")
        answer = connection.getresponse()
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.read().decode())
        assert found
        return str(answer.headers["Set-Cookie"]).partition(";")[0], found[1]


def _claimed_address() -> str:
    address = ".".join(str(random.randrange(1, 250)) for _ in range(4))  # noqa: S311
    return f"X-Forwarded-For: {address}\r\n"


async def _post(port: int, headers: str, body: bytes) -> str:
    """The status of one sign-in over a connection of its own."""
    try:
        reader, writer = await asyncio.open_connection(ports.LOOPBACK, port)
        head = f"POST /login/ HTTP/1.1\r\nHost: {ports.LOOPBACK}:{port}\r\nAccept: text/html\r\n"
        head += "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
        head += f"{headers}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
    except OSError as exc:
        return type(exc).__name__
    return answer.split(b" ", 2)[1].decode() if answer else "closed"


def _print_tables(results: dict[str, Measured]) -> None:
    _say("| fleet page | at rest: median, p95 | under flood: median, p95 | ratio: median, p95 |")
    _say("|---|---|---|---|")
    for name, result in results.items():
        rest, flood = (_spread(times) for times in (result.rest, result.flood))
        _say(f"| {name} | {rest} | {flood} | {result.ratios[0]:.2f}, {result.ratios[1]:.2f} |")
    _say("\n| flood | answers by status | web process before | at most |\n|---|---|---|---|")
    for name, result in results.items():
        counts = ", ".join(f"{count:,} × {code}" for code, count in sorted(result.statuses.items()))
        _say(f"| {name} | {counts} | {result.memory_before} MB | {result.memory_peak} MB |")


def _spread(times: Sequence[float]) -> str:
    return f"{median(times) * 1000:.0f} ms, {_p95(times) * 1000:.0f} ms"


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
