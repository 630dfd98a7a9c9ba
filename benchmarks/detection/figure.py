"""The figure of a detected degradation: `python -m benchmarks.detection.figure`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from benchmarks.detection import story
from benchmarks.detection.story import AFTER, BASELINE, BEFORE, LOG_THRESHOLD, StoryRun
from health.detector import WARN, Verdict

FILE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "degradation-found.svg"
WIDTH, HEIGHT, LEFT, RIGHT = 860, 550, 74, 690
INK, QUIET, GRID = "#1f2937", "#6b7280", "#e5e7eb"
BLUE, AMBER, RED = "#1d4ed8", "#b45309", "#b91c1c"
MIDDLE, END, BOLD = 'text-anchor="middle"', 'text-anchor="end"', 'font-weight="600"'


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the figure with its own scale."""

    top: float
    bottom: float
    low: float
    high: float

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.bottom - share * (self.bottom - self.top)


RATE = Panel(92, 268, 0.4, 1.0)
EVIDENCE = Panel(316, 492, -3, 12)


def main() -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(draw_figure(story.play_story()), encoding="utf-8")
    print(f"Wrote {FILE.name}.")


def draw_figure(runs: Sequence[StoryRun]) -> str:
    """The whole figure, on white so that it is readable on any page."""
    x = _across(len(runs))
    parts = [
        *_frame(runs),
        *_rates(runs, x),
        *_evidence(runs, x),
        *_marks(runs, x),
        *_legend(),
    ]
    return "\n".join((*parts, "</svg>", ""))


def _across(count: int) -> Callable[[int], float]:
    return lambda number: LEFT + (number + 0.5) * (RIGHT - LEFT) / count


def _frame(runs: Sequence[StoryRun]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="title about" '
        'font-family="system-ui, sans-serif" font-size="13">'
    )
    yield '<title id="title">A degradation being found</title>'
    yield f'<desc id="about">{_about(runs)}</desc>'
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>'
    yield _text(24, 32, "A degradation being found", style=BOLD + ' font-size="18"')
    yield _text(
        24,
        54,
        f"Ten trials a run, simulated (seed {story.SEED}): the true rate falls from "
        f"{_percent(BEFORE)} to {_percent(AFTER)}",
        QUIET,
    )
    yield _text((LEFT + RIGHT) / 2, 532, "run, in order", QUIET, MIDDLE)


def _about(runs: Sequence[StoryRun]) -> str:
    first = _first(runs, lambda run: run.is_degraded)
    slots = sum(not run.confirms for run in runs[first:])
    return (
        f"Above, the rate of {len(runs)} runs. Below, the logarithm of the evidence. The rate "
        f"falls at run {first + 1}; the alarm is raised at run {len(runs)}, in the scheduled slot "
        f"number {slots} from there."
    )


def _rates(runs: Sequence[StoryRun], x: Callable[[int], float]) -> Iterator[str]:
    yield from _scale(RATE, [(tick / 10, f"{tick * 10} %") for tick in (4, 6, 8, 10)])
    yield _text(LEFT, RATE.top - 10, "successful trials of a run", style=BOLD)
    usual = BASELINE.successes / BASELINE.trials
    yield _level(RATE, usual, QUIET, f"baseline {_percent(usual)}", nudge=-1)
    yield _level(RATE, story.reference(), BLUE, f"reference {_percent(story.reference())}", 9)
    for number, run in enumerate(runs):
        yield _dot(x(number), RATE.y(run.rate), run)
    blip = min(range(_first(runs, lambda run: run.is_degraded)), key=lambda n: runs[n].rate)
    yield _text(x(blip) + 10, RATE.y(runs[blip].rate) + 4, "one bad run is no warning", QUIET)


def _evidence(runs: Sequence[StoryRun], x: Callable[[int], float]) -> Iterator[str]:
    yield from _scale(EVIDENCE, [(value, str(value)) for value in (0, 4, 8, 12)])
    yield _text(LEFT, EVIDENCE.top - 10, "evidence of a fall, ln M", style=BOLD)
    yield _level(EVIDENCE, log(WARN), AMBER, f"warn, ln {WARN:.0f} = {log(WARN):.1f}")
    yield _level(EVIDENCE, LOG_THRESHOLD, RED, f"alarm, ln A = {LOG_THRESHOLD:.1f}")
    points = " ".join(
        f"{x(number):.1f},{EVIDENCE.y(run.log_m):.1f}" for number, run in enumerate(runs)
    )
    yield f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="1.5"/>'
    for number, run in enumerate(runs):
        yield _dot(x(number), EVIDENCE.y(run.log_m), run)


def _marks(runs: Sequence[StoryRun], x: Callable[[int], float]) -> Iterator[str]:
    step = x(1) - x(0)
    for number in range(4, _first(runs, lambda run: run.is_degraded) - 2, 5):
        yield _text(x(number), EVIDENCE.bottom + 18, str(number + 1), QUIET, MIDDLE)
    for number, name, colour in (
        (_first(runs, lambda run: run.is_degraded), "rate falls", INK),
        (_first(runs, lambda run: run.verdict is Verdict.WARN), "warning", AMBER),
        (len(runs) - 1, "alarm", RED),
    ):
        position = x(number) - step / 2 if name == "rate falls" else x(number)
        yield (
            f'<line x1="{position:.1f}" x2="{position:.1f}" y1="{RATE.top}" y2="{EVIDENCE.bottom}" '
            f'stroke="{colour}" stroke-width="1" stroke-dasharray="2 3"/>'
        )
        yield _text(position, EVIDENCE.bottom + 18, name, colour, MIDDLE)


def _legend() -> Iterator[str]:
    for row, (confirms, name) in enumerate(((False, "scheduled run"), (True, "confirming run"))):
        y = 150.0 + row * 22
        yield _dot(RIGHT + 18, y - 4, StoryRun(0, False, confirms, 0, Verdict.OK))
        yield _text(RIGHT + 30, y, name)


def _scale(panel: Panel, ticks: Sequence[tuple[float, str]]) -> Iterator[str]:
    for value, name in ticks:
        y = panel.y(value)
        yield f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
        yield _text(LEFT - 8, y + 4, name, QUIET, END)


def _level(panel: Panel, value: float, colour: str, name: str, nudge: float = 4) -> str:
    y = panel.y(value)
    line = (
        f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" '
        'stroke-dasharray="5 4"/>'
    )
    return line + _text(RIGHT + 8, y + nudge, name, colour)


def _dot(x: float, y: float, run: StoryRun) -> str:
    fill = "#ffffff" if run.confirms else INK
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{INK}" stroke-width="1.5"/>'
    )


def _text(x: float, y: float, text: str, colour: str = INK, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {style}>{text}</text>'


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _first(runs: Sequence[StoryRun], condition: Callable[[StoryRun], bool]) -> int:
    return next(number for number, run in enumerate(runs) if condition(run))


if __name__ == "__main__":
    main()
