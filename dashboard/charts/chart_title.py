"""What a chart shows, in one sentence with its figures: the title above it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from dashboard.charts.figures import measure as measures
from dashboard.charts.figures.chart_values import Row, Shown
from dashboard.charts.figures.measure import Measure, Price, Took
from dashboard.models import Incident
from dashboard.models.watch import Lane
from dashboard.trust import detection
from health.metric_names import metric_name
from health.rates import Rate, metric_rate
from probes.outcomes import Metric


def of_metric(shown: Shown, incidents: Sequence[Incident]) -> str:
    """What an incident says; else what both halves say; else the rate of all of it."""
    mine = [each for each in incidents if each.metric == shown.metric.value]
    if mine:
        return _of_incident(mine[-1], shown)
    rows = [row for row in shown.runs if row.rate] or [row for row in shown.live if row.rate]
    if not rows:
        return metric_name(shown.metric)
    return _of_halves(shown.metric, rows) or _of_all(shown.metric, rows)


def of_measure(measure: Measure, rows: Sequence[Took], price: Price | None) -> str:
    """What the runs of the window took, as a rule."""
    runs = sum(row.runs for row in rows)
    if measure is Measure.LATENCY:
        return _latency(rows) or measures.name_of(measure)
    if not rows or (measure is Measure.COST and price is None):
        return measures.name_of(measure)
    if measure is Measure.TOKENS:
        return ngettext(
            "{used} tokens in, {made} out in {runs} run; {lost} went into attempts "
            "that did not pass",
            "{used} tokens in, {made} out in {runs} runs; {lost} went into attempts "
            "that did not pass",
            runs,
        ).format(
            used=f"{sum(row.input_tokens for row in rows):,}",
            made=f"{sum(row.output_tokens for row in rows):,}",
            lost=f"{sum(row.lost_tokens or 0 for row in rows):,}",
            runs=runs,
        )
    assert price is not None
    total = sum(price.of(row) for row in rows)
    words = ngettext(
        "{total} {currency} for {runs} run, {each} a run",
        "{total} {currency} for {runs} runs, {each} a run",
        runs,
    )
    each = f"{total / runs:,.4f}"
    return words.format(total=f"{total:,.2f}", currency=price.currency, runs=runs, each=each)


def _latency(rows: Sequence[Took]) -> str:
    known = [row for row in rows if row.latency_p50_ms is not None and row.latency_p95_ms]
    if not known:
        return ""
    half = median(row.latency_p50_ms or 0 for row in known) / 1000
    most = median(row.latency_p95_ms or 0 for row in known) / 1000
    runs = sum(row.runs for row in known)
    return ngettext(
        "Half of the answers came within {half} s, 95 % within {most} s ({runs} run)",
        "Half of the answers came within {half} s, 95 % within {most} s (median of {runs} runs)",
        runs,
    ).format(half=f"{half:,.2f}", most=f"{most:,.2f}", runs=runs)


def _of_incident(incident: Incident, shown: Shown) -> str:
    said, opened = detection.headline_of(incident), day(incident.opened_at)
    if incident.ended_at is None:
        told = _("{finding} on {day}").format(finding=said, day=opened)
        return _since(told, incident, shown)
    ended = day(incident.ended_at)
    if incident.state == Incident.State.RECOVERED:
        words = _("{finding} on {day} and recovered on {ended}")
    elif incident.state == Incident.State.ACCEPTED:
        words = _("{finding} on {day}, which was accepted as normal on {ended}")
    else:
        words = _("{finding} on {day}, under a key or suite that ended on {ended}")
    return words.format(finding=said, day=opened, ended=ended)


def _since(told: str, incident: Incident, shown: Shown) -> str:
    """What the runs after its opening say: many get worse, or are better long before they end."""
    lane = shown.live if incident.lane == Lane.LIVE else shown.runs
    rate = _together(shown.metric, [row for row in lane if row.at > incident.opened_at])
    if rate is None:
        return told
    words = _("{finding}; since then {rate}, {count} of {trials} trials")
    count, trials = f"{rate.count:,}", f"{rate.trials:,}"
    return words.format(finding=told, rate=_share(rate), count=count, trials=trials)


def _of_halves(metric: Metric, rows: Sequence[Row]) -> str:
    """That it moved, only where the intervals of both halves have nothing in common."""
    middle = rows[0].at + (rows[-1].at - rows[0].at) / 2
    before = _together(metric, [row for row in rows if row.at <= middle])
    after = _together(metric, [row for row in rows if row.at > middle])
    if before is None or after is None:
        return ""
    if (after.high or 0) < (before.low or 0):
        words = _("{metric} fell from {before} to {after} between the halves of this range")
    elif (after.low or 0) > (before.high or 0):
        words = _("{metric} rose from {before} to {after} between the halves of this range")
    else:
        return ""
    return words.format(metric=metric_name(metric), before=_share(before), after=_share(after))


def _of_all(metric: Metric, rows: Sequence[Row]) -> str:
    rate = _together(metric, rows)
    if rate is None:
        return metric_name(metric)
    words = _("{metric}: {rate}, {count} of {trials} trials")
    if rows[0].live:
        words = _("{metric} of live traffic: {rate}, {count} of {trials} trials")
    return words.format(
        metric=metric_name(metric),
        rate=_share(rate),
        count=f"{rate.count:,}",
        trials=f"{rate.trials:,}",
    )


def _together(metric: Metric, rows: Sequence[Row]) -> Rate | None:
    rates = [row.rate for row in rows if row.rate]
    trials = sum(rate.trials for rate in rates)
    return metric_rate(metric, trials, sum(rate.failures for rate in rates)) if trials else None


def _share(rate: Rate) -> str:
    return f"{rate.value or 0:.0%}"


def day(moment: datetime) -> str:
    """A day as a title says it, such as 3 Nov."""
    return date_format(moment, pgettext("a day inside a sentence, such as 3 Nov", "j M"))
