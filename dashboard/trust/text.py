"""The figures that a change of the watch rests on, as sentences with their denominators."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from probes.outcomes import Metric

Figures = Mapping[str, Any]

_KNOWN = {
    "none": gettext_lazy("scanty"),
    "provisional": gettext_lazy("provisional"),
    "frozen": gettext_lazy("frozen"),
}


def sentences(metric: Metric, figures: Figures) -> list[str]:
    """What the figures say, from the run to the threshold; what is missing is left out."""
    said = [_of_run, _of_last_runs, _of_baseline, _of_sums, _of_others]
    found = (tell(metric, figures) for tell in said)
    return [sentence for sentence in found if sentence]


def sums(figures: Figures) -> str:
    """How far the sums had come, in a few words."""
    if figures.get("refused"):
        return _("refused outright, which needs no statistics")
    log_m, log_a = figures.get("log_m"), figures.get("log_a")
    if log_m is None or log_a is None:
        return ""
    return _("ln M {sum} of {needed} needed").format(sum=f"{log_m:.1f}", needed=f"{log_a:.1f}")


def shown(metric: Metric, success: float) -> float:
    """A success rate the way the metric is shown."""
    return success if DIRECTIONS[metric] is Direction.HIGH else 1 - success


def baseline_of(metric: Metric, figures: Figures) -> Rate | None:
    """The trials that said what was normal; None where there were none."""
    good, trials, _runs = figures.get("baseline") or (0, 0, 0)
    return metric_rate(metric, trials, trials - good) if trials else None


def day(moment: datetime) -> str:
    """The day of a moment (UTC), with its year where that is another one."""
    if moment.year == timezone.now().year:
        return date_format(moment, pgettext("format of a day", "j M"))
    return date_format(moment, pgettext("format of a day", "j M Y"))


def _of_run(metric: Metric, figures: Figures) -> str:
    trials, failures = figures.get("trials"), figures.get("failures")
    if not trials:
        return ""
    said = (
        _("{failures} of {trials} trials of the run were refused.")
        if figures.get("refused")
        else _("{failures} of {trials} trials of the run went badly.")
    )
    return said.format(failures=failures, trials=trials)


def _of_last_runs(metric: Metric, figures: Figures) -> str:
    estimate = figures.get("estimate")
    if estimate is None or figures.get("refused"):
        return ""
    said = _("The last runs together speak for {rate}.")
    return said.format(rate=f"{shown(metric, estimate):.0%}")


def _of_baseline(metric: Metric, figures: Figures) -> str:
    reference = figures.get("reference")
    rate = baseline_of(metric, figures)
    if reference is None or (figures.get("refused") and rate is None):
        return ""
    compared = f"{shown(metric, reference):.1%}"
    if rate is None:
        said = _("Compared with {reference}, since there was no baseline yet.")
        return said.format(reference=compared)
    runs = (figures.get("baseline") or (0, 0, 0))[2]
    return ngettext(
        "Compared with {reference}, the cautious reading of a {known} baseline of "
        "{count} of {trials} ({rate}) in {runs} run.",
        "Compared with {reference}, the cautious reading of a {known} baseline of "
        "{count} of {trials} ({rate}) in {runs} runs.",
        runs,
    ).format(
        reference=compared,
        known=_KNOWN.get(figures.get("known", ""), _("known")),
        count=rate.count,
        trials=rate.trials,
        rate=f"{rate.value:.0%}",
        runs=runs,
    )


def _of_sums(metric: Metric, figures: Figures) -> str:
    if figures.get("refused"):
        return _("Refused outright, which needs no statistics.")
    said = sums(figures)
    return _("{figures}.").format(figures=said) if said else ""


def _of_others(metric: Metric, figures: Figures) -> str:
    others = [metric_name(Metric(name)) for name in figures.get("together_with", ())]
    return _("Together with: {metrics}.").format(metrics=", ".join(others)) if others else ""
