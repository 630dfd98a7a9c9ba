"""The figures that a change of the watch rests on, as sentences with their denominators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from health.metrics import DIRECTIONS, Good, Rate, rate_of
from health.words import NAMES
from probes.attempts import Metric

Figures = Mapping[str, Any]


def sentences(metric: Metric, figures: Figures) -> list[str]:
    """What the figures say, from the run to the threshold; what is missing is left out."""
    said = [_of_run, _of_last_runs, _of_baseline, _of_sums, _of_others]
    found = (say(metric, figures) for say in said)
    return [sentence for sentence in found if sentence]


def sums(figures: Figures) -> str:
    """How far the sums had come, in a few words."""
    if figures.get("refused"):
        return "refused outright, which needs no statistics"
    log_m, log_a = figures.get("log_m"), figures.get("log_a")
    if log_m is None or log_a is None:
        return ""
    return f"ln M {log_m:.1f} of {log_a:.1f} needed"


def shown(metric: Metric, success: float) -> float:
    """A success rate the way the metric is shown."""
    return success if DIRECTIONS[metric] is Good.HIGH else 1 - success


def baseline_of(metric: Metric, figures: Figures) -> Rate | None:
    """The trials that said what was normal; None where there were none."""
    good, trials, _ = figures.get("baseline") or (0, 0, 0)
    return rate_of(metric, trials, trials - good) if trials else None


def _of_run(metric: Metric, figures: Figures) -> str:
    trials, failures = figures.get("trials"), figures.get("failures")
    if not trials:
        return ""
    how = "were refused" if figures.get("refused") else "went badly"
    return f"{failures} of {trials} trials of the run {how}."


def _of_last_runs(metric: Metric, figures: Figures) -> str:
    estimate = figures.get("estimate")
    if estimate is None or figures.get("refused"):
        return ""
    return f"The last runs together speak for {shown(metric, estimate):.0%}."


def _of_baseline(metric: Metric, figures: Figures) -> str:
    reference = figures.get("reference")
    if reference is None or (figures.get("refused") and baseline_of(metric, figures) is None):
        return ""
    said = f"Compared with {shown(metric, reference):.1%}"
    rate = baseline_of(metric, figures)
    if rate is None:
        return f"{said}, since there was no baseline yet."
    runs = (figures.get("baseline") or (0, 0, 0))[2]
    return (
        f"{said}, the cautious reading of a {figures.get('known', 'known')} baseline of "
        f"{rate.count} of {rate.trials} ({rate.value:.0%}) in {runs} runs."
    )


def _of_sums(metric: Metric, figures: Figures) -> str:
    said = sums(figures)
    if not said:
        return ""
    return f"{said}." if said.startswith("ln") else f"{said[0].upper()}{said[1:]}."


def _of_others(metric: Metric, figures: Figures) -> str:
    others = [NAMES[Metric(name)].lower() for name in figures.get("together_with", ())]
    return f"Together with {', '.join(others)}." if others else ""
