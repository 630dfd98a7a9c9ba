"""The progress output of a first start."""

from __future__ import annotations

from dashboard.demo.demo_history import ProgressLine

SENTENCE = "Playing 30 days of history on the simulated vendors: {} %"


def write_progress(shares: list[float], *, is_terminal: bool) -> str:
    text: list[str] = []
    line = ProgressLine(text.append, is_terminal=is_terminal)
    for share in shares:
        line.show(share)
    return "".join(text)


def test_a_terminal_has_one_overwritten_line() -> None:
    """Every percentage is written once; the line ends at 100 %."""
    output = write_progress([0, 0.004, 0.1, 0.45, 0.45, 1], is_terminal=True)

    assert output == "".join("\r" + SENTENCE.format(p) for p in (0, 10, 45, 100)) + "\n"


def test_a_log_has_a_few_plain_lines() -> None:
    """A log has a line per quarter, without control characters."""
    output = write_progress([number / 1000 for number in range(1001)], is_terminal=False)

    assert output.splitlines() == [SENTENCE.format(p) for p in (0, 25, 50, 75, 100)]
