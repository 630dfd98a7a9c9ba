"""Sentences about the figures behind a change of the watch, with their denominators."""

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

_BASELINE_STATES = {
    "none": gettext_lazy("scanty"),
    "provisional": gettext_lazy("provisional"),
    "frozen": gettext_lazy("frozen"),
}


def figure_sentences(metric: Metric, figures: Figures) -> list[str]:
    """The figures in sentences, from the run to the threshold; missing ones are omitted."""
    writers = [_run_text, _last_runs_text, _baseline_text, _evidence_sentence, _others_text]
    texts = (write(metric, figures) for write in writers)
    return [text for text in texts if text]


def evidence_text(figures: Figures) -> str:
    """The evidence against its threshold, in a few words."""
    if figures.get("refused"):
        return _("refused outright, which needs no statistics")
    log_m, log_a = figures.get("log_m"), figures.get("log_a")
    if log_m is None or log_a is None:
        return ""
    return _("ln M {sum} of {needed} needed").format(sum=f"{log_m:.1f}", needed=f"{log_a:.1f}")


def displayed_rate(metric: Metric, success: float) -> float:
    """A success rate as the metric shows it: a failure rate where low is good."""
    return success if DIRECTIONS[metric] is Direction.HIGH else 1 - success


def baseline_rate(metric: Metric, figures: Figures) -> Rate | None:
    """The rate of the baseline; None without trials."""
    successes, trials, _runs = figures.get("baseline") or (0, 0, 0)
    return metric_rate(metric, trials, trials - successes) if trials else None


def format_day(moment: datetime) -> str:
    """The day of a moment (UTC), with the year unless it is the current one."""
    if moment.year == timezone.now().year:
        return date_format(moment, pgettext("format of a day", "j M"))
    return date_format(moment, pgettext("format of a day", "j M Y"))


def _run_text(metric: Metric, figures: Figures) -> str:
    trials, failures = figures.get("trials"), figures.get("failures")
    if not trials:
        return ""
    message = (
        _("{failures} of {trials} trials of the run were refused.")
        if figures.get("refused")
        else _("{failures} of {trials} trials of the run went badly.")
    )
    return message.format(failures=failures, trials=trials)


def _last_runs_text(metric: Metric, figures: Figures) -> str:
    """The runs since the change; older rows have only an estimate."""
    if "latest" in figures:
        return _latest_text(metric, figures)
    estimate = figures.get("estimate")
    if estimate is None or figures.get("refused"):
        return ""
    message = _("The last runs together speak for {rate}.")
    return message.format(rate=f"{displayed_rate(metric, estimate):.0%}")


def _latest_text(metric: Metric, figures: Figures) -> str:
    good, trials, runs = figures["latest"]
    if runs == 1:
        return ""
    message = _(
        "{failures} of {trials} trials of the last {runs} runs went badly. {metric}: {rate} on "
        "average per run."
    )
    return message.format(
        failures=trials - good,
        trials=trials,
        runs=runs,
        metric=metric_name(metric),
        rate=f"{displayed_rate(metric, figures['rate']):.0%}",
    )


def _baseline_text(metric: Metric, figures: Figures) -> str:
    reference = figures.get("reference")
    rate = baseline_rate(metric, figures)
    if reference is None or (figures.get("refused") and rate is None):
        return ""
    compared = f"{displayed_rate(metric, reference):.1%}"
    if figures.get("limit") is not None:
        message = _("Compared with {reference}, the absolute limit: no baseline is as good.")
        return message.format(reference=compared)
    if rate is None:
        message = _("Compared with {reference}, since there was no baseline yet.")
        return message.format(reference=compared)
    runs = (figures.get("baseline") or (0, 0, 0))[2]
    return ngettext(
        "Compared with {reference}, the cautious reading of a {known} baseline of "
        "{count} of {trials} ({rate}) in {runs} run.",
        "Compared with {reference}, the cautious reading of a {known} baseline of "
        "{count} of {trials} ({rate}) in {runs} runs.",
        runs,
    ).format(
        reference=compared,
        known=_BASELINE_STATES.get(figures.get("known", ""), _("known")),
        count=rate.count,
        trials=rate.trials,
        rate=f"{rate.value:.0%}",
        runs=runs,
    )


def _evidence_sentence(metric: Metric, figures: Figures) -> str:
    if figures.get("refused"):
        return _("Refused outright, which needs no statistics.")
    text = evidence_text(figures)
    return _("{figures}.").format(figures=text) if text else ""


def _others_text(metric: Metric, figures: Figures) -> str:
    others = [metric_name(Metric(name)) for name in figures.get("together_with", ())]
    return _("Together with: {metrics}.").format(metrics=", ".join(others)) if others else ""
