from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
from typing import Any

import pytest

from cli.detect import add_arguments, detect
from probes.messages import JSON
from tests.simulators.plugin import ROOT

# Only this command's arguments and streams, without the other commands of cli/main.py.
DETECT_ONLY = (
    "import argparse, sys; from cli.detect import add_arguments, run;"
    "parser = argparse.ArgumentParser(); add_arguments(parser);"
    "sys.exit(run(parser.parse_args(sys.argv[1:])))"
)
FALL = (10, 10, 9, 10, 8, 7, 8, 6, 7, 5)
LOG_M = (-1.7537, -1.4292, 0.1231, -0.5490, 1.2431, 3.0394, 4.1054, 6.3115, 8.0462, 10.9118)


def judge_lines(data: str | bytes, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    raw = data if isinstance(data, bytes) else data.encode()
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    stdout, stderr = io.StringIO(), io.StringIO()
    code = detect(parser.parse_args(arguments), io.BytesIO(raw), stdout, stderr)
    return code, [json.loads(line) for line in stdout.getvalue().splitlines()], stderr.getvalue()


def line(successes: int, trials: int = 10, metric: str = "parse_success", t: JSON = 0) -> str:
    entry = {"t": t, "metric": metric, "trials": trials, "failures": trials - successes}
    return json.dumps(entry) + "\n"


def test_a_fall_below_a_given_baseline_is_found_where_the_sums_say() -> None:
    """With a baseline the detector starts frozen and empty, and follows the golden vector."""
    code, answers, _ = judge_lines("".join(map(line, FALL)), "--baseline", "196/200")

    assert code == 0
    assert [step["log_m"] for step in answers] == pytest.approx(LOG_M, abs=2e-4)
    assert [step["verdict"] for step in answers] == ["ok"] * 6 + ["warn"] * 3 + ["alarm"]
    assert {step["state"] for step in answers} == {"frozen"}
    assert {round(step["p_ref"], 5) for step in answers} == {0.95538}


def test_every_line_is_echoed_with_its_time_and_metric() -> None:
    """Times are echoed unchanged, numbers and texts alike."""
    lines = line(10, t=1.5) + line(10, t="2026-11-16T12:00Z", metric="anything goes") + line(9, t=7)

    _, answers, _ = judge_lines(lines)

    assert [(step["t"], step["metric"]) for step in answers] == [
        (1.5, "parse_success"),
        ("2026-11-16T12:00Z", "anything goes"),
        (7, "parse_success"),
    ]
    assert list(answers[0]) == ["t", "metric", "state", "log_m", "verdict", "p_ref"]


def test_without_a_baseline_a_metric_warms_up_on_its_own_lines() -> None:
    """The state after each line: partly known from 30 trials on, fully from 200 on."""
    _, answers, _ = judge_lines(line(9) * 22)

    assert [step["state"] for step in answers] == (
        ["none"] * 2 + ["provisional"] * 17 + ["frozen"] * 3
    )
    assert [answers[1][key] for key in ("log_m", "verdict", "p_ref")] == [None, "ok", None]
    references = [step["p_ref"] for step in answers[2:]]
    assert references == sorted(references)
    assert references[-1] == references[-3] == pytest.approx(0.857124, abs=1e-6)


def test_a_line_is_judged_by_what_was_known_before_it() -> None:
    """A bad run lowers the reference for later runs, not for itself."""
    _, answers, _ = judge_lines(line(10) * 4 + line(0))
    _, frozen, _ = judge_lines(line(10) + line(0), "--baseline", "40/40")

    assert answers[4]["p_ref"] < answers[3]["p_ref"]
    assert answers[4]["verdict"] == frozen[1]["verdict"] == "warn"


def test_metrics_do_not_disturb_each_other() -> None:
    """Interleaved with another, a metric gets the same answers as alone."""
    alone = judge_lines("".join(map(line, FALL)))[1]

    mixed = judge_lines("".join(line(x) + line(3, 20, metric="other") for x in FALL))[1]

    assert mixed[::2] == alone


def test_after_an_alarm_the_sums_start_anew() -> None:
    """The same two runs raise the alarm again, and not the first of them alone."""
    _, answers, _ = judge_lines(line(0) * 4, "--baseline", "196/200")

    assert [step["verdict"] for step in answers] == ["warn", "alarm", "warn", "alarm"]
    assert answers[2]["log_m"] == answers[0]["log_m"]


def test_a_run_without_trials_changes_nothing() -> None:
    """The answer is that of the line before, and the baseline does not count the run."""
    _, answers, _ = judge_lines(line(5) + line(0, 0) + line(5), "--baseline", "196/200")
    _, without, _ = judge_lines(line(5) * 2, "--baseline", "196/200")

    assert answers[1] == answers[0]
    assert answers[2] == without[1]
    assert judge_lines(line(0, 0))[1][0]["log_m"] is None


@pytest.mark.parametrize(
    ("arguments", "p_ref"),
    [
        (("--baseline", "200/200"), 0.987261),
        (("--baseline", "190/200"), 0.916449),
        (("--baseline", "190/200", "--per-run", "5"), 0.921964),
        (("--baseline", "3990/4000", "--per-run", "200", "--lane", "live"), 0.994247),
    ],
    ids=["perfect", "good", "small runs", "live"],
)
def test_a_baseline_says_what_is_normal(arguments: tuple[str, ...], p_ref: float) -> None:
    """The reference follows from successes, trials, trials per run and the lane."""
    assert judge_lines(line(10), *arguments)[1][0]["p_ref"] == pytest.approx(p_ref, abs=2e-4)


def test_who_looks_more_often_needs_more_evidence() -> None:
    """The threshold grows with the runs per year: here only the daily one is crossed."""
    lines = "".join(map(line, (10, 10, 9, 10, 8, 7, 8, 6, 5)))

    daily = judge_lines(lines, "--baseline", "196/200", "--runs-per-year", "365")[1]
    hourly = judge_lines(lines, "--baseline", "196/200", "--runs-per-year", "8760")[1]

    assert (daily[-1]["verdict"], hourly[-1]["verdict"]) == ("alarm", "warn")


def test_live_traffic_has_the_threshold_of_five_minutes() -> None:
    """Without --runs-per-year the lane's default applies; the cap shows which one was used."""
    default = judge_lines(line(0, 200), "--baseline", "3990/4000", "--lane", "live")[1]
    explicit = judge_lines(
        line(0, 200),
        *("--baseline", "3990/4000", "--lane", "live", "--runs-per-year", "105120"),
    )[1]

    assert default == explicit
    assert default[0]["log_m"] > judge_lines(line(0, 200), "--baseline", "3990/4000")[1][0]["log_m"]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("{'t': 1}", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"metric": "m", "trials": 1, "failures": 0}', "'t'"),
        ('{"t": true, "metric": "m", "trials": 1, "failures": 0}', "'t'"),
        ('{"t": 1, "trials": 1, "failures": 0}', "'metric'"),
        ('{"t": 1, "metric": 3, "trials": 1, "failures": 0}', "'metric'"),
        ('{"t": 1, "metric": "m", "failures": 0}', "'trials' as a whole number"),
        ('{"t": 1, "metric": "m", "trials": 1}', "'failures' as a whole number"),
        ('{"t": 1, "metric": "m", "trials": 5, "failures": 6}', "6 of 5 trials"),
        ('{"t": 1, "metric": "m", "trials": -1, "failures": -1}', "not -1"),
        ('{"t": 1, "metric": "m", "trials": 2.5, "failures": 1}', "not 2.5"),
        ('{"t": 1, "metric": "m", "trials": "9", "failures": 1}', 'not "9"'),
        ('{"t": 1, "metric": "m", "trials": true, "failures": 0}', "not true"),
        ('{"t": 1, "metric": "m", "trials": 1e12, "failures": 0}', "from 0 to"),
        ('{"t": 1, "metric": "m", "trials": NaN, "failures": 0}', "not JSON"),
        ('{"t": 1, "t": 2, "metric": "m", "trials": 1, "failures": 0}', "'t' stands twice"),
    ],
)
def test_a_bad_line_ends_the_command_with_its_number(bad: str, expected: str) -> None:
    """Exit 2 with a message; earlier answers stay."""
    code, answers, message = judge_lines(line(10) + "\n" + bad + "\n" + line(10))

    assert code == 2
    assert len(answers) == 1
    assert message.startswith("toolgauge detect: line 3: ")
    assert expected in message


def test_bytes_that_are_no_text_are_a_bad_line() -> None:
    """Not UTF-8 is wrong input, not a traceback."""
    code, answers, message = judge_lines(b"\xff\xfe{}\n")

    assert (code, answers) == (2, [])
    assert "UTF-8" in message


@pytest.mark.parametrize("data", ["", "\n \n\n"], ids=["nothing", "blank lines"])
def test_no_line_at_all_is_no_verdict(data: str) -> None:
    """Exit 3: there was nothing to judge."""
    code, answers, message = judge_lines(data)

    assert (code, answers) == (3, [])
    assert "no line" in message


@pytest.mark.parametrize(
    "arguments",
    [
        ("--baseline", "5/3"),
        ("--baseline", "0/0"),
        ("--baseline", "-1/3"),
        ("--baseline", "96 %"),
        ("--baseline", "1/2/3"),
        ("--per-run", "0"),
        ("--per-run", "nan"),
        ("--runs-per-year", "often"),
        ("--lane", "fast"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_wrong_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 before anything is read, with the argument named."""
    with pytest.raises(SystemExit) as raised:
        judge_lines(line(10), *arguments)

    assert raised.value.code == 2
    assert f"argument {arguments[0]}" in capsys.readouterr().err


def test_an_answer_comes_before_the_next_line_is_asked_for() -> None:
    """A live system can be watched: each line is answered at once."""
    with subprocess.Popen(
        [sys.executable, "-c", DETECT_ONLY, "--baseline", "196/200"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        verdicts = []
        for successes in (10, 0, 0):
            process.stdin.write(line(successes))
            process.stdin.flush()
            verdicts.append(json.loads(process.stdout.readline())["verdict"])
        process.stdin.close()

    assert verdicts == ["ok", "warn", "alarm"]
    assert process.returncode == 0


def test_a_reader_that_leaves_is_no_error() -> None:
    """As with `head`: no traceback, and exit 0."""
    with subprocess.Popen(
        [sys.executable, "-c", DETECT_ONLY],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, message = process.communicate(line(10) * 100)

    assert (process.returncode, message) == (0, "")


def test_reading_the_arguments_loads_nothing_of_the_project() -> None:
    """`toolgauge --help` stays light."""
    code = (
        "import sys, cli.detect;"
        "print([name for name in sys.modules if name.split('.')[0] in ('health', 'probes')])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert result.stdout == "[]\n"
