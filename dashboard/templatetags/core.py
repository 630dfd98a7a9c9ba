"""Labels, badges and times for templates."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from json import dumps
from typing import Any

from django import template
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from dashboard.core import durations, labels, safe_text
from dashboard.core.fact_labels import fact_label
from health.status import Status
from health.translation import say

register = template.Library()

# A shape per status, so that colour is not the only difference. Drawn on 12 x 12.
_SHAPES = {
    Status.HEALTHY: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
    Status.DEGRADED: "M6 1 11.5 11H.5Z",
    Status.FAILING: "M1.5 1.5h9v9h-9Z",
    Status.UNREACHABLE: "M2 1 6 5 10 1 11 2 7 6 11 10 10 11 6 7 2 11 1 10 5 6 1 2Z",
    Status.REFUSED: "M3.9 1h4.2L11 3.9v4.2L8.1 11H3.9L1 8.1V3.9ZM3 5v2h6V5Z",
    Status.NO_VERDICT: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z",
    Status.STALE: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2v6a3 3 0 0 1 0-6Z",
    Status.WAITING: "M1 5h2.4v2.4H1Zm3.8 0h2.4v2.4H4.8Zm3.8 0H11v2.4H8.6Z",
    Status.OFF: "M1 5h10v2H1Z",
}
_OUTCOMES = {"pass": Status.HEALTHY, "fail": Status.FAILING, "void": Status.NO_VERDICT}


@register.inclusion_tag("parts/_status.html")
def status_badge(status: Status, label: str = "") -> dict[str, Any]:
    return _badge(status, label or labels.code_label(status.value, labels.STATUSES))


@register.inclusion_tag("parts/_status.html")
def outcome_badge(outcome: str) -> dict[str, Any]:
    return _badge(_OUTCOMES[outcome], labels.code_label(outcome, labels.OUTCOMES))


@register.inclusion_tag("parts/_time.html")
def when(moment: datetime | None, empty: str = "") -> dict[str, Any]:
    """How long ago, or how long until; static/js/times.js keeps it current."""
    text = relative(moment) if moment else ""
    return {"moment": moment, "text": text, "empty": empty}


@register.inclusion_tag("parts/_time.html")
def due(moment: datetime) -> dict[str, Any]:
    """How long until; “due now” for a time in the past."""
    text = relative(moment) if moment > timezone.now() else _("due now")
    return {"moment": moment, "text": text, "is_due": True}


@register.filter
def percent(value: float | None) -> str:
    return _("no data") if value is None else f"{value:.0%}"


@register.filter
def duration(span: timedelta | None) -> str:
    return durations.format_duration(span) if span else ""


@register.filter
def run_duration(run: Any) -> str:
    """How long a run took, or has taken so far."""
    if run.started_at is None:
        return ""
    return durations.format_rough_duration((run.finished_at or timezone.now()) - run.started_at)


@register.filter
def visible(text: object) -> str:
    return safe_text.visible(safe_text.clip(str(text), 2000))


@register.filter
def json(value: object) -> str:
    return dumps(value, ensure_ascii=False)


@register.filter
def code_label(name: object) -> str:
    return labels.code_label(name)


@register.filter
def run_state_label(state: str) -> str:
    return labels.code_label(state, labels.RUN_STATES)


@register.filter
def suite_label(suite: str) -> str:
    return labels.code_label(suite, labels.SUITES)


@register.filter
def risk_label(risk: str) -> str:
    return labels.code_label(risk, labels.RISKS)


@register.filter
def delivery_label(state: str) -> str:
    return labels.code_label(state, labels.DELIVERIES)


@register.filter
def check_label(name: str) -> str:
    return labels.code_label(name, labels.DOCTOR_CHECKS)


@register.filter
def fact_name(fact: str) -> str:
    return fact_label(fact)


@register.filter
def translated(text: str) -> str:
    """A text from a table of source strings, in the reader's language."""
    return say(text)


@register.filter
def day(moment: date | None) -> str:
    return formats.date_format(moment, pgettext("format of a day", "j M Y")) if moment else ""


@register.filter
def minute(moment: datetime | None) -> str:
    """The day and the time, without seconds."""
    if moment is None:
        return ""
    return formats.date_format(moment, pgettext("format of a moment", "j M Y H:i"))


@register.filter
def second(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return formats.date_format(moment, pgettext("format of a moment", "j M Y H:i:s"))


def relative(moment: datetime) -> str:
    return durations.format_relative_time(timezone.now() - moment)


def _badge(status: Status, label: str) -> dict[str, Any]:
    return {"kind": status.value.replace(" ", "-"), "path": _SHAPES[status], "label": label}
