"""A story that outlives its server: the clock reads the time since a moment that is given."""

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


def test_a_clock_reads_nought_at_the_moment_its_source_shows_as_the_start() -> None:
    """The start may lie before the clock was made."""
    seconds = [100.0]
    clock = Clock(source=lambda: seconds[0], started=40.0)
    assert clock.now() == 60
    seconds[0] = 101.0

    assert clock.now() == 61


@pytest.mark.parametrize("speed", [1, 60])
def test_a_clock_since_a_moment_reads_what_has_passed_times_its_speed(speed: int) -> None:
    """Made anew, as after a restart, it goes on and does not begin again."""
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
def test_a_moment_without_a_zone_is_in_utc(text: str, moment: datetime) -> None:
    """What is written down by one start means the same to the next, wherever it runs."""
    assert parse_since(text) == moment


def test_what_is_no_moment_is_wrong_usage() -> None:
    """The message shows what to write."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"'soon' is not a timestamp; give .*Z"):
        parse_since("soon")


def test_the_command_takes_the_moment_too(capsys: pytest.CaptureFixture[str]) -> None:
    """`toolgauge simulate` ends with exit code 2 where it is none."""
    with pytest.raises(SystemExit) as exit_info:
        main(["simulate", "--since", "soon"])

    assert exit_info.value.code == 2
    assert "'soon' is not a timestamp" in capsys.readouterr().err


def test_a_restarted_server_goes_on_where_the_story_stands() -> None:
    """Two servers since the same moment, one after the other, tell one time that runs on."""
    start = datetime.now(UTC) - timedelta(days=12)
    readings = []
    for _ in range(2):
        with serve_vendors("--since", start.isoformat()) as (url, _pid):
            readings.append(httpx.get(f"{url}/_clock", trust_env=False).json()["now"])

    assert 12 * DAY <= readings[0] < readings[1] <= time.time() - start.timestamp()


def test_a_server_shows_the_state_that_its_story_has_by_now() -> None:
    """Twenty days after it began, six calls in ten of the slow decay leak."""
    start = datetime.now(UTC) - timedelta(days=20)
    with serve_vendors("--since", start.isoformat()) as (url, _pid):
        truth = httpx.get(f"{url}/stories/slow-decay/_truth/qwen", trust_env=False).json()

    assert truth["metrics"]["leak"] == {"rate": pytest.approx(0.6)}
