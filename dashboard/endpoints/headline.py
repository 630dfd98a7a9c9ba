"""The headline of the endpoint page: the problem, or since when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core import durations
from dashboard.endpoints.summary import EndpointSummary
from dashboard.incidents.queries import IncidentHeading
from dashboard.models import Profile
from dashboard.trust.text import format_day
from health.detector import BaselineState
from health.metric_names import metric_name
from health.status import Status


def read_headline(
    summary: EndpointSummary, profile: Profile, open_incidents: Sequence[IncidentHeading]
) -> str:
    """Runs at most one query."""
    if open_incidents:
        return _incident_headline(open_incidents)
    if summary.condition.below_gate:
        names = ", ".join(metric_name(metric) for metric in summary.condition.below_gate)
        return _("Never came up to the gate: {metrics}").format(metrics=names)
    return _status_headline(summary) or _healthy_headline(summary, profile)


def _incident_headline(open_incidents: Sequence[IncidentHeading]) -> str:
    worst, others = open_incidents[0].title, len(open_incidents) - 1
    if not others:
        return worst
    text = ngettext(
        "{finding}, and {count} more is open", "{finding}, and {count} more are open", others
    )
    return text.format(finding=worst, count=others)


def _status_headline(summary: EndpointSummary) -> str:
    match summary.status:
        case Status.WAITING:
            return _("Not probed yet: the first run decides")
        case Status.OFF:
            return _("It is not probed on schedule, so this is what was last known")
        case Status.UNREACHABLE | Status.REFUSED | Status.NO_VERDICT:
            return _no_verdict_headline(summary)
        case Status.STALE:
            assert summary.last_ended_at is not None
            span = durations.format_rough_duration(timezone.now() - summary.last_ended_at)
            return _("No run ended for {span}: this may hold no longer").format(span=span)
        case Status.DEGRADED | Status.FAILING:
            return _rate_headline(summary)
        case _:
            return ""


def _no_verdict_headline(summary: EndpointSummary) -> str:
    if summary.status is Status.NO_VERDICT:
        return _("The last run came to no verdict")
    causes = {
        "auth_rejected": _("Refused: the API key was rejected (401 or 403)"),
        "not_found": _("Refused: no such model or path (404)"),
        "redirected": _("Refused: the URL redirects elsewhere (3xx)"),
        "not_json": _("Refused: the answers are not JSON"),
        "unreachable": _("Unreachable: no connection"),
        "timed_out": _("Unreachable: no answer in time"),
        "broken_off": _("Unreachable: every connection broke off"),
        "overloaded": _("Unreachable: only server errors (5xx)"),
    }
    return causes.get(summary.void_kind) or _("Refused: every request was rejected")


def _rate_headline(summary: EndpointSummary) -> str:
    assert summary.rate is not None
    text = _("{failures} of {trials} calls could not be read in the last run")
    return text.format(failures=summary.rate.failures, trials=summary.rate.trials)


def _healthy_headline(summary: EndpointSummary, profile: Profile) -> str:
    if summary.condition.known is BaselineState.NONE:
        return _("Nothing is wrong so far, but too few trials were made to know what is normal")
    return _("Holds since {day}").format(day=format_day(_healthy_since(profile)))


def _healthy_since(profile: Profile) -> datetime:
    """The end of the last incident, or the creation of the profile."""
    ended: datetime | None = profile.incidents.aggregate(last=Max("ended_at"))["last"]
    return ended or profile.created_at
