"""`toolgauge detect`: reads a history of runs and prints the detector's verdict on each.

Imports of the project are inside the functions: `toolgauge --help` loads this file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, TextIO

if TYPE_CHECKING:
    from health.backtest import BacktestSeries
    from health.detector import Lane
    from probes.messages import JSON

MAX_LINE = 1024 * 1024
MAX_TRIALS = 10**9  # trials per line; beyond it the likelihoods lose precision
DEFAULT_TRIALS_PER_RUN = 10.0
# One run every six hours; one bucket of live traffic every five minutes.
RUNS_PER_YEAR = {"probe": 1460.0, "live": 105_120.0}


class BadInput(Exception):
    """A line that cannot be parsed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The counts of one metric in one run."""

    t: str | float
    metric: str
    trials: int
    failures: int


@dataclass(slots=True)
class Backtest:
    """The detector's series of each metric of a history."""

    lane: Lane
    log_threshold: float
    baseline: tuple[int, int] | None = None
    per_run: float | None = None
    _series: dict[str, BacktestSeries] = field(default_factory=dict, init=False)

    def answer(self, line: RunCounts) -> dict[str, JSON]:
        """The output line for an input line."""
        series = self._series.get(line.metric) or self._start(line.metric)
        step = series.add_run(line.trials - line.failures, line.trials)
        return {
            "t": line.t,
            "metric": line.metric,
            "state": step.state.value,
            "log_m": step.log_m,
            "verdict": step.verdict.value,
            "p_ref": step.p_ref,
        }

    def _start(self, metric: str) -> BacktestSeries:
        from health.backtest import BacktestSeries
        from health.detector import Baseline

        baseline = Baseline(*self.baseline) if self.baseline else None
        # A baseline that is only a total does not say how many trials a run had.
        per_run = self.per_run or (DEFAULT_TRIALS_PER_RUN if baseline else None)
        series = BacktestSeries(self.lane, self.log_threshold, baseline, per_run)
        self._series[metric] = series
        return series


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baseline",
        type=_parse_baseline,
        metavar="SUCCESSES/TRIALS",
        help="start frozen on it; without it every metric warms up on its own lines",
    )
    parser.add_argument(
        "--per-run",
        type=_parse_positive,
        metavar="N",
        help="trials of a run of the baseline (10 with --baseline, else the mean of the lines)",
    )
    parser.add_argument(
        "--runs-per-year",
        type=_parse_positive,
        metavar="N",
        help="how often one looks, which sets the threshold (1460; 105120 in the live lane)",
    )
    parser.add_argument(
        "--lane",
        choices=["probe", "live"],
        default="probe",
        help="probe runs, or five minutes of live traffic a line (probe)",
    )


def run(options: argparse.Namespace) -> int:
    """Judge standard input line by line; 0 if every line was judged."""
    try:
        return detect(options, sys.stdin.buffer, sys.stdout, sys.stderr)
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does. Nothing may flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def detect(options: argparse.Namespace, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    """The same on any streams: 2 at the first line that cannot be parsed, 3 if there is none."""
    from health.detector import LIVE, PROBE, alarm_threshold

    lane = LIVE if options.lane == "live" else PROBE
    log_threshold = alarm_threshold(options.runs_per_year or RUNS_PER_YEAR[options.lane])
    backtest = Backtest(lane, log_threshold, options.baseline, options.per_run)
    count = 0
    for number, data in enumerate(stdin, start=1):
        if not data.strip():
            continue
        try:
            answer = backtest.answer(read_line(data))
        except BadInput as exc:
            stderr.write(f"toolgauge detect: line {number}: {exc}\n")
            return 2
        # At once: a live view must not wait for the next line.
        stdout.write(json.dumps(answer) + "\n")
        stdout.flush()
        count += 1
    if count:
        return 0
    stderr.write("toolgauge detect: There was no line to judge; give one JSON object a line.\n")
    return 3


def read_line(data: bytes) -> RunCounts:
    """Parse one line of the history; BadInput says what is wrong with it."""
    entry = _parse_entry(data)
    time, metric = entry.get("t"), entry.get("metric")
    if isinstance(time, bool) or not isinstance(time, str | int | float):
        raise BadInput("Give the time of the run as 't', a number or a string.")
    if not isinstance(metric, str) or not metric:
        raise BadInput("Name the metric as 'metric', a string.")
    trials, failures = _read_count(entry, "trials"), _read_count(entry, "failures")
    if failures > trials:
        raise BadInput(
            f"{failures} of {trials} trials cannot have failed; 'failures' counts the trials that "
            "went badly."
        )
    return RunCounts(time, metric, trials, failures)


def _parse_entry(data: bytes) -> Mapping[str, JSON]:
    from probes.strict_json import parse_json

    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        raise BadInput(f"The line is not UTF-8 at byte {exc.start}; save it as UTF-8.") from exc
    result = parse_json(text, max_bytes=MAX_LINE)
    if result.error is not None:
        raise BadInput(f"The line is not JSON; give one object a line. {result.error}")
    if not isinstance(result.value, Mapping):
        raise BadInput("The line is not a JSON object; give 't', 'metric', 'trials', 'failures'.")
    if result.duplicate_keys:
        raise BadInput(f"{result.duplicate_keys[0]!r} stands twice in the line; give it once.")
    return result.value


def _read_count(entry: Mapping[str, JSON], key: str) -> int:
    value = entry.get(key)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or value % 1
        or not 0 <= value <= MAX_TRIALS
    ):
        raise BadInput(
            f"Give {key!r} as a whole number from 0 to {MAX_TRIALS}, not {_quote_value(value)}."
        )
    return int(value)


def _quote_value(value: JSON) -> str:
    return "nothing" if value is None else json.dumps(value)[:60]


def _parse_baseline(text: str) -> tuple[int, int]:
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not SUCCESSES/TRIALS, such as 196/200")
    successes, trials = (int(part[:20]) for part in parts)
    if not 0 < trials <= MAX_TRIALS or successes > trials:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no baseline: give at least one trial, and no more successes than trials"
        )
    return successes, trials


def _parse_positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= MAX_TRIALS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_TRIALS}")
    return value
