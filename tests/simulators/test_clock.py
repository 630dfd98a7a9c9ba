"""Clocks that survive a restart of the server, by counting from a given timestamp."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime, timedelta, timezone

import httpx
import pytest

from cli.main import main
from simulators.clock import Clock
from simulators.options import parse_since
from tests.simulators.plugin import serve_vendors

DAY = 86_400


def test_a_clock_reads_zero_when_its_source_reads_the_start() -> None:
    """The start can be before the clock was created."""
    seconds = [100.0]
    clock = Clock(source=lambda: seconds[0], started=40.0)
    assert clock.now() == 60
    seconds[0] = 101.0

    assert clock.now() == 61


@pytest.mark.parametrize("speed", [1, 60])
def test_a_clock_since_a_timestamp_reads_the_elapsed_time_times_its_speed(speed: int) -> None:
    """A second clock, as after a restart, continues instead of starting over."""
    start = datetime.now(UTC) - timedelta(days=3)
    before = (time.time() - start.timestamp()) * speed
    first = Clock.since(start, speed=speed).now()
    second = Clock.since(start, speed=speed).now()

    assert before <= first <= second
    assert second <= (time.time() - start.timestamp()) * speed


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        (
            "2026-01-31T12:00:00+02:00",
            datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2))),
        ),
    ],
)
def test_a_timestamp_without_a_zone_is_in_utc(text: str, moment: datetime) -> None:
    """A stored timestamp means the same after a restart on any machine."""
    assert parse_since(text) == moment


def test_an_invalid_timestamp_is_a_usage_error() -> None:
    """The message shows a valid timestamp."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"'soon' is not a timestamp; give .*Z"):
        parse_since("soon")


def test_the_command_checks_the_timestamp(capsys: pytest.CaptureFixture[str]) -> None:
    """`toolgauge simulate` exits with code 2 for an invalid timestamp."""
    with pytest.raises(SystemExit) as exit_info:
        main(["simulate", "--since", "soon"])

    assert exit_info.value.code == 2
    assert "'soon' is not a timestamp" in capsys.readouterr().err


def test_a_restarted_server_continues_the_story() -> None:
    """Two servers started one after the other with the same timestamp share one timeline."""
    start = datetime.now(UTC) - timedelta(days=12)
    readings = []
    for _ in range(2):
        with serve_vendors("--since", start.isoformat()) as (url, _pid):
            readings.append(httpx.get(f"{url}/_clock", trust_env=False).json()["now"])

    assert 12 * DAY <= readings[0] < readings[1] <= time.time() - start.timestamp()


def test_a_server_serves_the_current_state_of_its_story() -> None:
    """Twenty days after its start, 60 % of the calls of slow-decay leak."""
    start = datetime.now(UTC) - timedelta(days=20)
    with serve_vendors("--since", start.isoformat()) as (url, _pid):
        truth = httpx.get(f"{url}/stories/slow-decay/_truth/qwen", trust_env=False).json()

    assert truth["metrics"]["leak"] == {"rate": pytest.approx(0.6)}
