"""The references of a metric over time, with their warning and alarm levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.charts.figures.lanes import Reference
from dashboard.models import Endpoint, Watch, WatchEvent
from dashboard.models.watch import ACCEPTED, Lane
from dashboard.trust.text import displayed_rate
from health import alarm_levels
from health.detector import PROBE, Baseline, BaselineState
from health.rates import metric_rate
from health.watch import ChangeKind, watch_threshold
from probes.outcomes import Metric

MAX_EVENTS = 100
_BASELINE_EVENTS = (ChangeKind.FROZEN.value, ChangeKind.CORRELATED.value, ACCEPTED)


def read_references(
    endpoint: Endpoint, metric: Metric, start: datetime, end: datetime
) -> list[Reference]:
    """Every reference in force in the span, each until the next one."""
    settled = WatchEvent.objects.filter(
        profile__endpoint=endpoint,
        metric=metric.value,
        lane=Lane.PROBE,
        kind__in=_BASELINE_EVENTS,
        at__lte=end,
    ).select_related("profile")
    newest = sorted(
        settled.order_by("-id")[:MAX_EVENTS], key=lambda event: (event.profile_id, event.id)
    )
    references = [
        reference
        for _profile, events in groupby(newest, key=lambda event: event.profile_id)
        for reference in _profile_references(endpoint, metric, list(events), end)
    ]
    profile = endpoint.profile
    since = [event.at for event in newest if event.profile_id == profile.pk]
    references += _provisional_reference(
        endpoint, metric, since[-1] if since else profile.created_at, end
    )
    return [each for each in references if each.end >= start]


def _profile_references(
    endpoint: Endpoint, metric: Metric, events: list[WatchEvent], end: datetime
) -> Iterable[Reference]:
    over = events[-1].profile.ended_at or end
    ends = [event.at for event in events[1:]] + [over]
    for event, until in zip(events, ends, strict=True):
        baseline = Baseline(*event.figures.get("baseline", (0, 0, 0)))
        rate = event.figures.get("reference")
        if rate is None and baseline.known() is BaselineState.FROZEN:
            rate = baseline.reference()
        if rate is not None:
            text = _reference_text(metric, rate, baseline)
            yield _build_reference(
                endpoint, metric, (event.at, until), rate=rate, baseline=baseline, text=text
            )


def _provisional_reference(
    endpoint: Endpoint, metric: Metric, since: datetime, end: datetime
) -> list[Reference]:
    """The reference while the baseline is incomplete; it moves with every run."""
    gauge = Watch.objects.state_of(endpoint.profile).gauge(metric)
    rate = gauge.current_reference(PROBE)
    if rate is None or gauge.reference is not None or since > end:
        return []
    text = _("provisional {reference}").format(
        reference=_reference_text(metric, rate, gauge.baseline)
    )
    reference = _build_reference(
        endpoint, metric, (since, end), rate=rate, baseline=gauge.baseline, text=text
    )
    return [replace(reference, provisional=True)]


def _build_reference(  # noqa: PLR0913 -- the fields of a reference
    endpoint: Endpoint,
    metric: Metric,
    span: tuple[datetime, datetime],
    *,
    rate: float,
    baseline: Baseline,
    text: str,
) -> Reference:
    trials = round(baseline.trials / max(baseline.runs, 1))
    limit = watch_threshold(endpoint.ttl)
    warn, alarm = (
        alarm_levels.warning_level(rate, trials, limit),
        alarm_levels.alarm_level(rate, trials, limit),
    )
    return Reference(
        *span,
        displayed_rate(metric, rate),
        text,
        warn=None if warn is None else displayed_rate(metric, warn),
        alarm=None if alarm is None else displayed_rate(metric, alarm),
    )


def _reference_text(metric: Metric, success: float, baseline: Baseline) -> str:
    of = metric_rate(metric, baseline.trials, baseline.trials - baseline.successes)
    baseline_text = ngettext(
        "baseline {count} of {trials} in {runs} run",
        "baseline {count} of {trials} in {runs} runs",
        baseline.runs,
    ).format(count=of.count, trials=of.trials, runs=baseline.runs)
    reference = _("reference {rate}").format(rate=f"{displayed_rate(metric, success):.1%}")
    return f"{reference}<br>{baseline_text}"
