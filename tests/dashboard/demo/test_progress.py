"""What a first start says while it plays the history."""

from __future__ import annotations

from dashboard.demo.demo_history import ProgressLine

SENTENCE = "Playing 30 days of history on the simulated vendors: {} %"


def written(shares: list[float], *, is_terminal: bool) -> str:
    text: list[str] = []
    line = ProgressLine(text.append, is_terminal=is_terminal)
    for share in shares:
        line.show(share)
    return "".join(text)


def test_a_terminal_shows_one_line_that_is_written_over() -> None:
    """Every whole per cent once; the line ends when all is done."""
    shown = written([0, 0.004, 0.1, 0.45, 0.45, 1], is_terminal=True)

    assert shown == "".join("\r" + SENTENCE.format(p) for p in (0, 10, 45, 100)) + "\n"


def test_a_log_gets_a_few_plain_lines() -> None:
    """A quarter at a time, without control characters."""
    shown = written([number / 1000 for number in range(1001)], is_terminal=False)

    assert shown.splitlines() == [SENTENCE.format(p) for p in (0, 25, 50, 75, 100)]
