"""The title above a chart: its main finding in one sentence with figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from dashboard.charts.figures import measure as measures
from dashboard.charts.figures.chart_values import ChartPoint, MetricHistory
from dashboard.charts.figures.measure import Measure, RunCost, TokenPrice
from dashboard.models import Incident
from dashboard.models.watch import Lane
from dashboard.trust import detection
from health.metric_names import metric_name
from health.rates import Rate, metric_rate
from probes.outcomes import Metric


def metric_title(history: MetricHistory, incidents: Sequence[Incident]) -> str:
    """The newest incident, else a change between the halves, else the overall rate."""
    mine = [each for each in incidents if each.metric == history.metric.value]
    if mine:
        return _incident_title(mine[-1], history)
    rows = [row for row in history.runs if row.rate] or [row for row in history.live if row.rate]
    if not rows:
        return metric_name(history.metric)
    return _trend_title(history.metric, rows) or _overall_title(history.metric, rows)


def measure_title(measure: Measure, rows: Sequence[RunCost], price: TokenPrice | None) -> str:
    """Typical latency, or the sum of tokens or cost."""
    runs = sum(row.runs for row in rows)
    if measure is Measure.LATENCY:
        return _latency_title(rows) or measures.measure_name(measure)
    if not rows or (measure is Measure.COST and price is None):
        return measures.measure_name(measure)
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
    total = sum(price.cost_of(row) for row in rows)
    text = ngettext(
        "{total} {currency} for {runs} run, {each} a run",
        "{total} {currency} for {runs} runs, {each} a run",
        runs,
    )
    each = f"{total / runs:,.4f}"
    return text.format(total=f"{total:,.2f}", currency=price.currency, runs=runs, each=each)


def _latency_title(rows: Sequence[RunCost]) -> str:
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


def _incident_title(incident: Incident, history: MetricHistory) -> str:
    headline, opened = detection.incident_headline(incident), format_day(incident.opened_at)
    if incident.ended_at is None:
        title = _("{finding} on {day}").format(finding=headline, day=opened)
        return _with_rate_since(title, incident, history)
    ended = format_day(incident.ended_at)
    if incident.state == Incident.State.RECOVERED:
        text = _("{finding} on {day} and recovered on {ended}")
    elif incident.state == Incident.State.ACCEPTED:
        text = _("{finding} on {day}, which was accepted as normal on {ended}")
    else:
        text = _("{finding} on {day}, under a key or suite that ended on {ended}")
    return text.format(finding=headline, day=opened, ended=ended)


def _with_rate_since(title: str, incident: Incident, history: MetricHistory) -> str:
    """Adds the rate since the incident opened, which can be worse or better than then."""
    lane = history.live if incident.lane == Lane.LIVE else history.runs
    rate = _pooled_rate(history.metric, [row for row in lane if row.at > incident.opened_at])
    if rate is None:
        return title
    text = _("{finding}; since then {rate}, {count} of {trials} trials")
    count, trials = f"{rate.count:,}", f"{rate.trials:,}"
    return text.format(finding=title, rate=_percent(rate), count=count, trials=trials)


def _trend_title(metric: Metric, rows: Sequence[ChartPoint]) -> str:
    """A rise or fall between the halves, only if their intervals do not overlap."""
    middle = rows[0].at + (rows[-1].at - rows[0].at) / 2
    before = _pooled_rate(metric, [row for row in rows if row.at <= middle])
    after = _pooled_rate(metric, [row for row in rows if row.at > middle])
    if before is None or after is None:
        return ""
    if (after.high or 0) < (before.low or 0):
        text = _("{metric} fell from {before} to {after} between the halves of this range")
    elif (after.low or 0) > (before.high or 0):
        text = _("{metric} rose from {before} to {after} between the halves of this range")
    else:
        return ""
    return text.format(metric=metric_name(metric), before=_percent(before), after=_percent(after))


def _overall_title(metric: Metric, rows: Sequence[ChartPoint]) -> str:
    rate = _pooled_rate(metric, rows)
    if rate is None:
        return metric_name(metric)
    text = _("{metric}: {rate}, {count} of {trials} trials")
    if rows[0].live:
        text = _("{metric} of live traffic: {rate}, {count} of {trials} trials")
    return text.format(
        metric=metric_name(metric),
        rate=_percent(rate),
        count=f"{rate.count:,}",
        trials=f"{rate.trials:,}",
    )


def _pooled_rate(metric: Metric, rows: Sequence[ChartPoint]) -> Rate | None:
    rates = [row.rate for row in rows if row.rate]
    trials = sum(rate.trials for rate in rates)
    return metric_rate(metric, trials, sum(rate.failures for rate in rates)) if trials else None


def _percent(rate: Rate) -> str:
    return f"{rate.value or 0:.0%}"


def format_day(moment: datetime) -> str:
    """For example 3 Nov."""
    return date_format(moment, pgettext("a day inside a sentence, such as 3 Nov", "j M"))
